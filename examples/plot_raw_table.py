"""A CSV file with text and missing values: a model, a report, and pictures of its columns.

The command line fits the model; Python reads it with `locallinear.load`.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
from gallery import finish, settings

import locallinear
from locallinear.explain import CoefficientDisplay

PRICES = {"harbour": 5.2, "old town": 6.0, "north": 2.5, "garden city": 3.8}


def flats(n: int = 300) -> pd.DataFrame:
    """Flats whose price per m² depends on the district; above floor 2, a missing lift costs."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "size (m²)": rng.uniform(25, 140, n).round(),
            "floor": rng.integers(0, 6, n),
            "district": rng.choice(list(PRICES), n),
            "lift": rng.choice(["yes", "no"], n),
        }
    )
    rate = frame["district"].map(PRICES)
    stairs = np.where((frame["lift"] == "no") & (frame["floor"] > 2), 40.0, 0.0)
    frame["price (k€)"] = frame["size (m²)"] * rate - stairs + rng.normal(scale=12, size=n)
    frame.loc[rng.choice(n, 25, replace=False), "district"] = None
    frame.loc[rng.choice(n, 25, replace=False), "size (m²)"] = np.nan
    return frame


def main() -> None:
    options = settings(__doc__)
    folder = Path(tempfile.mkdtemp())
    flats().to_csv(folder / "flats.csv", index=False)
    command = ["fit", folder / "flats.csv", "--target", "price (k€)", "--scaling", "standard"]
    command += ["--out", folder / "flats.model", *(["--quick"] if options.quick else [])]
    subprocess.run([sys.executable, "-m", "locallinear", *map(str, command)], check=True)

    model = locallinear.load(folder / "flats.model")
    new = flats(320)[300:].reset_index(drop=True)
    why = model.explain(new)
    why.to_html(folder / "why.html", title="What a flat costs")
    print(f"\nThe report on 20 more flats is in {folder / 'why.html'}")
    districts = CoefficientDisplay.from_estimator(model, flats(), "district").plot()
    finish(options.out, table_row=why.plot(2).figure_, table_districts=districts.figure_)


if __name__ == "__main__":
    main()

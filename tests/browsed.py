"""The reports that tests open in a browser, and what they read from a page."""

import numpy as np
import pandas
import pytest

from houses import fitted, houses
from locallinear import FALLClassifier, FALLRegressor, TableRegressor
from locallinear.explain import report_data
from locallinear.explain import rows as rows_module

NAMES = ["<script>alert(1)</script>", '"quo\'ted" & <b>more</b>', "שלום עולם", "long name " * 30]
NAMES += ["cost $x^2$", *(f"feature {j}" for j in range(9))]
PANELS = ["#row-name", "#row-prediction", "#chart-row", "#parts-table", "#neighbor-table"]
PANELS += ["#sliders", "#whatif-prediction", "#layers-text"]


def hostile():
    """Inputs, targets and queries with names that try to break a page."""
    rng = np.random.default_rng(0)
    X = pandas.DataFrame(rng.normal(size=(200, len(NAMES))), columns=NAMES)
    Q = X.iloc[:40] + 0.05
    Q.iloc[38] += 50
    Y = pandas.DataFrame(
        {"</script><img src=x onerror=alert(2)>": X[NAMES[0]] * 3, "ציר": X[NAMES[2]]}
    )
    return X, Y, Q


def of_targets(scaling):
    """Two hostile targets of fourteen features."""
    X, Y, Q = hostile()
    rows = [f"<i>mix</i> {i}" for i in range(40)]
    model = FALLRegressor(n_anchors=12, scaling=scaling, random_state=0).fit(X, Y)
    return report_data(model, X, Y, Xq=Q, row_names=rows, title="<b>Title</b>")


def of_classes():
    """Hostile classes; in the last row no feature counts."""
    X, Y, Q = hostile()
    labels = np.array(["low", "<b>high</b>"])[(Y.iloc[:, 0] > 0).astype(int)]
    classifier = FALLClassifier(n_anchors=6, random_state=0).fit(X, labels)
    data = report_data(classifier, X, labels, Xq=Q)
    rows = data["rows"]
    for name in ("coef", "contributions", "differences"):  # as in a pure neighbourhood
        rows[name][39] = np.zeros((2, len(NAMES))).tolist()
    rows["intercept"][39] = rows["prediction"][39]
    rows["level"][39] = np.subtract(rows["prediction"][39], rows["baseline"]).tolist()
    return data


def of_table():
    """A raw table."""
    table = houses(seed=1).replace({"district": {"old town": NAMES[0]}})
    return report_data(fitted(("price", "rent")), Xq=table)


def of_logs():
    """A target whose log is modelled."""
    grown = TableRegressor(FALLRegressor(6, n_neighbors=5), target="log", random_state=0)
    grown.fit(houses(), "price")
    return report_data(grown, Xq=houses(30, seed=1))


def of_many_rows():
    """More rows than have details."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rows_module, "MOST_DETAILED", 10)
        many = houses(300, seed=1)
        many.loc[5, "district"] = "=1+1"
        many.loc[6, "size (m²)"] = 9999.0
        return report_data(fitted(), Xq=many, yq=many["price"])


def clocks(n=120, seed=0):
    """Cells such as 13:45, and a target that is high at noon and falls with snow."""
    rng = np.random.default_rng(seed)
    minutes = rng.integers(0, 1440, n)
    cells = [f"{minute // 60:02}:{minute % 60:02}" for minute in minutes]
    noon = -np.cos(2 * np.pi * minutes / 1440)
    width, snow = noon + rng.uniform(size=n), rng.integers(0, 3, n)
    y = 10 * noon + width - snow
    return pandas.DataFrame({"clock": cells, "width": width, "snow": snow, "y": y})


def of_clocks():
    """A column of times of day, and one of which all rows of the page have one value."""
    model = TableRegressor(FALLRegressor(8, random_state=0), target="identity")
    model.fit(clocks(), "y")
    return report_data(model, Xq=clocks(40, seed=1).assign(snow=0))


def flats(n=60, seed=0):
    """Dates, times, shares and amounts as German files write them, and their values."""
    rng = np.random.default_rng(seed)
    days = pandas.to_datetime("2022-01-15") + pandas.to_timedelta(rng.integers(0, 700, n), "D")
    cents = rng.integers(100_000, 300_000, n)
    values = pandas.DataFrame(
        {
            "signed": days.strftime("%Y-%m-%d"),
            "call": [f"{hour:02}:{minute:02}" for hour, minute in rng.integers(0, 24, (n, 2))],
            "discount": rng.integers(1, 9, n),
            "costs": cents / 100,
            "garage": rng.choice(["ja", "nein"], n),
        }
    )
    marked = [f"{cost:,.2f}".translate(str.maketrans(",.", ".,")) for cost in values["costs"]]
    cells = values.assign(
        signed=days.strftime("%d.%m.%Y"),
        discount=[f"{share} %" for share in values["discount"]],
        costs=[f"{text} EUR" for text in marked],
    )
    return cells, values


def of_flats():
    """Cells that are written otherwise than the page writes them."""
    cells, values = flats()
    model = TableRegressor(FALLRegressor(5, random_state=0), target="identity")
    return report_data(model.fit(cells, values["costs"] * 2), Xq=flats(seed=1)[0])


# What a page shows, by name: each is made once per file of tests, when it is opened.
REPORTS = {
    "units": lambda: of_targets("standard"),
    "ranks": lambda: of_targets("quantile"),
    "classes": of_classes,
    "table": of_table,
    "logs": of_logs,
    "many": of_many_rows,
    "clocks": of_clocks,
    "flats": of_flats,
}


def panels(page):
    """What each panel holds, as HTML."""
    return {panel: page.locator(panel).inner_html() for panel in PANELS}


def shown_prediction(page):
    """The prediction that the page shows."""
    return float(page.locator("#whatif-prediction").get_attribute("data-value"))

"""Options of the examples, and files for their pictures."""

import argparse
from pathlib import Path
from typing import Any


def settings(description: str) -> argparse.Namespace:
    """Read the options of an example: `out`, a folder or None, and `quick`."""
    parser = argparse.ArgumentParser(description=description.strip().splitlines()[0])
    parser.add_argument(
        "--out", type=Path, help="folder for the pictures; without it, they are shown"
    )
    parser.add_argument(
        "--quick", action="store_true", help="smaller searches, for a fast first look"
    )
    return parser.parse_args()


def finish(out: Path | None, **figures: Any) -> None:
    """Write figures as PNG files under their names, or show them if there is no folder."""
    if out is None:
        from matplotlib import pyplot

        pyplot.show()
        return
    out.mkdir(parents=True, exist_ok=True)
    for name, figure in figures.items():
        path = out / f"{name.replace('_', '-')}.png"
        figure.savefig(path, dpi=110)
        shrink(path)
        print(f"Wrote {path}")


def shrink(path: Path) -> None:
    """Reduce a picture to 256 colours: drawings have few more, and the file is a third as large."""
    from PIL import Image

    with Image.open(path) as image:
        small = image.convert("RGB").quantize(256)
    small.save(path, optimize=True)

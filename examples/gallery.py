"""What the examples share: where their pictures go."""

import argparse
from pathlib import Path


def settings(description: str) -> argparse.Namespace:
    """The options of every example: `out`, a folder or None, and `quick`."""
    parser = argparse.ArgumentParser(description=description.strip().splitlines()[0])
    parser.add_argument("--out", type=Path, help="folder for the pictures; shown if left out")
    parser.add_argument("--quick", action="store_true", help="smaller searches, for a first look")
    return parser.parse_args()


def finish(out: Path | None, **figures) -> None:
    """Write figures as PNG files with their names, or show them."""
    if out is None:
        from matplotlib import pyplot

        pyplot.show()
        return
    out.mkdir(parents=True, exist_ok=True)
    for name, figure in figures.items():
        path = out / f"{name.replace('_', '-')}.png"
        figure.savefig(path, dpi=110)
        shrink(path)
        print(f"Drawn: {path}")


def shrink(path: Path) -> None:
    """Keep 256 colours, which drawings do not exceed by much: a third of the size."""
    from PIL import Image

    with Image.open(path) as image:
        small = image.convert("RGB").quantize(256)
    small.save(path, optimize=True)

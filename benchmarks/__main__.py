"""Run all benchmarks that take minutes, or those named on the command line."""

import argparse
import importlib
import pkgutil
import sys
from pathlib import Path

import benchmarks
from benchmarks._run import RESULTS, keep


def main() -> None:
    names = [m.name for m in pkgutil.iter_modules(benchmarks.__path__) if m.name[0] != "_"]
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("modules", nargs="*", metavar="module", help=", ".join(names))
    parser.add_argument("--out", type=Path, default=RESULTS, help="file that keeps the tables")
    parser.add_argument(
        "--show", action="store_true", help="run nothing; draw the tables of the rows that are kept"
    )
    arguments = parser.parse_args()
    unknown = set(arguments.modules) - set(names)
    if unknown:
        parser.error(f"there is no benchmark {', '.join(unknown)}; there are {', '.join(names)}")
    for name in arguments.modules or names:
        module = importlib.import_module(f"benchmarks.{name}")
        if not arguments.modules and getattr(module, "LONG", False):
            print(f"\nLeft out, since it takes long: python -m benchmarks {name}")
            continue
        if arguments.show and not hasattr(module, "tables"):
            parser.error(f"{name} keeps no rows to draw tables from; run it without --show")
        tables = module.tables() if arguments.show else module.run()
        keep(arguments.out, name, module.__doc__, tables)


if __name__ == "__main__":
    if sys.argv[1:2] in (["league"], ["intervals"]):  # have options of their own
        importlib.import_module(f"benchmarks.{sys.argv[1]}").main(sys.argv[2:])
    else:
        main()

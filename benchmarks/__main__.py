"""Run all benchmarks that take minutes, or those named on the command line."""

import argparse
import importlib
import pkgutil
from pathlib import Path

import benchmarks
from benchmarks._run import section, write_section

RESULTS = Path(__file__).parent / "RESULTS.md"


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
        tables = []
        for table in module.tables() if arguments.show else module.run():
            print(f"\n{table.markdown()}", flush=True)
            tables.append(table)
        write_section(arguments.out, name, section(name, module.__doc__, tables))
    print(f"\nKept in {arguments.out}")


if __name__ == "__main__":
    main()

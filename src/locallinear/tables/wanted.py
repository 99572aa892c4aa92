"""What users say of columns where the guess is wrong: kinds, and how cells are written."""

from collections.abc import Iterable, Sequence
from typing import Any

from .amounts import OTHER
from .cells import pandas_module

# What a user says of a column: a kind, perhaps with a colon and how its cells are written, as in
# "date: %d/%m/%Y", "number: ," and "ordered: low < mid < high"; or the levels in their order.
Wanted = str | Sequence[str]
KINDS = ("number", "category", "ordered", "text", "date", "skip")


def as_kind(wanted: Wanted) -> tuple[str, str]:
    """The kind that a user gives to a column, and how its cells are written or ""."""
    if not isinstance(wanted, str):
        return "ordered", ""
    kind, _, how = wanted.partition(":")
    return kind.strip(), how.strip()


def check_types(types: Any, names: list[str]) -> dict[str, Wanted]:
    """The kinds that a user gives to columns; an error for one that is none of the kinds."""
    if types is None:
        return {}
    if not hasattr(types, "items"):
        raise ValueError(
            f"types must be a dict from columns to kinds, but is a {type(types).__name__}; write "
            "types={'month': 'category'}"
        )
    checked: dict[str, Wanted] = {}
    for name, wanted in types.items():
        if str(name) not in names:
            raise ValueError(
                f"types names the column {name!r}, which X does not have; its columns are "
                f"{', '.join(map(str, names[:8]))}"
            )
        wrong = wrong_kind(wanted)
        if wrong:
            raise ValueError(f"types says that column {name!r} is {wanted!r}, but {wrong}")
        checked[str(name)] = wanted
    return checked


def wrong_kind(wanted: Any) -> str:
    """What is wrong with the kind that a user gives to a column; "" if nothing is."""
    if isinstance(wanted, list | tuple):
        return _wrong_levels(list(wanted))
    kind, how = as_kind(wanted) if isinstance(wanted, str) else ("", "")
    if kind not in KINDS:
        return f"a kind is one of {', '.join(KINDS)}"
    if not how:
        return ""
    if kind == "ordered" and "<" in how:
        wrong = _wrong_levels(levels_in(how))
        hint = "; '<' separates levels: give those that hold it in Python, as a list of texts"
        return f"{wrong}{hint}" if wrong else ""
    examples = {"number": "number: ,", "date": "date: %d/%m/%Y", "ordered": "ordered: low < high"}
    fits = {"number": how in OTHER, "date": _is_format(how)}
    return "" if fits.get(kind, False) else f"a colon is used as in {_listed(examples.values())}"


def levels_in(how: str) -> list[str]:
    """The levels in a text such as low < mid < high."""
    return [level.strip() for level in how.split("<")]


def _wrong_levels(levels: list[Any]) -> str:
    """What is wrong with the levels of an ordered column; "" if nothing is."""
    if len(levels) < 2 or not all(isinstance(level, str) for level in levels):
        return "levels are two or more texts, from the lowest to the highest"
    stripped = [level.strip() for level in levels]
    if not all(stripped):
        return "a level is empty"
    twice = [level for level in stripped if stripped.count(level) > 1]
    return f"the level {twice[0]!r} is there twice" if twice else ""


def _is_format(form: str) -> bool:
    """Whether a text can be the format of dates."""
    try:
        pandas_module().to_datetime(["no date"], format=form, errors="coerce")
    except ValueError:
        return False
    return "%" in form


def _listed(examples: Iterable[str]) -> str:
    *first, last = (repr(example) for example in examples)
    return f"{', '.join(first)} or {last}"

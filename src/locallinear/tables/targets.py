"""Target columns of a table: which rows have them, whether they are classes, what is refused."""

from .table import Table, TableError


def with_targets(table: Table, targets: tuple[str, ...]) -> tuple[Table, list[str]]:
    """Return the rows that have all targets, and a note on the rows left out, if any."""
    complete = table.frame[list(targets)].notna().all(axis=1).to_numpy()
    if not complete.any():
        raise TableError(f"{table.name}: no row has a value of {' and '.join(targets)}.")
    if complete.all():
        return table, []
    n_left_out = len(table) - complete.sum()
    note = f"Rows without a target are left out: {n_left_out} of {len(table)}."
    return table.take(complete), [note]


def is_class(table: Table, targets: tuple[str, ...]) -> bool:
    """Whether a target is text.

    A target that is mostly numbers is not a class: TableError names its first cell of text.
    """
    text = [name for name in targets if table.is_text(name)]
    for name in text:
        if table.share_of_numbers(name) > 0.5:
            table.numbers(
                name,
                "The rest of the target is numbers: correct the cell or leave it empty, or pass "
                "--classify if the target is a class.",
            )
    return bool(text)


def check_targets(table: Table, targets: tuple[str, ...], classify: bool) -> None:
    """Raise TableError for targets that no model can learn."""
    if classify and len(targets) > 1:
        raise TableError(
            f"A class is one column, but the targets are {' and '.join(targets)}; fit one model "
            "for each."
        )
    if len(set(targets)) < len(targets):
        raise TableError(f"--target names a column twice: {', '.join(targets)}.")
    for name in targets:
        values = table.frame[name]
        if values.nunique() == 1:
            raise TableError(
                f"The target {name!r} is {values.iloc[0]} in every row: there is nothing to learn "
                "from a constant."
            )
        if classify and values.nunique() > max(20, len(values) // 2):
            raise TableError(
                f"The target {name!r} has {values.nunique()} different texts in {len(values)} "
                "rows, too many for classes; is it the right column?"
            )

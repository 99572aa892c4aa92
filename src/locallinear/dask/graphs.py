"""How graphs of tasks are built here.

Tasks get other tasks as single arguments, never in lists: of what is in a list, Dask forgets which
results on workers it needs, and it looks at the whole graph again for each list.
"""

from collections.abc import Iterator, Sequence
from typing import TypeVar

Item = TypeVar("Item")


def in_groups(items: Sequence[Item], size: int) -> Iterator[Sequence[Item]]:
    """The items in groups of at most so many, for a task that merges each group."""
    return (items[start : start + size] for start in range(0, len(items), size))

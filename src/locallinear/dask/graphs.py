"""How graphs of tasks are built here, so that samples stay where they are.

- Tasks get other tasks as single arguments, never in lists: of what is in a list, Dask forgets
  which results on workers it needs, and it looks at the whole graph again for each list.
- A task whose only large input is a partition gets small things as values, not as results of other
  tasks: then the worker with the partition is the only one that Dask considers for it.
- Many tasks that hang together are one layer of a graph. `delayed` makes a layer per task, and
  looks at all layers before it each time.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from operator import getitem
from typing import Any, TypeVar
from uuid import uuid4

import numpy as np
from dask.delayed import Delayed, delayed
from dask.highlevelgraph import HighLevelGraph
from dask.sizeof import sizeof
from distributed import futures_of, wait

Item = TypeVar("Item")

# Arrays of at most so many bytes are sent with each task.
SMALL = 2**20


def sized(kind: type) -> type:
    """Tell Dask how large objects of a class are: as large as their attributes.

    Dask would take them for small, and would send them where it thinks that there is less to do.
    """
    sizeof.register(kind)(_size_of_attributes)
    return kind


def _size_of_attributes(value: Any) -> int:
    return sum(sizeof(attribute) for attribute in vars(value).values())


def with_each_task(value: Any, n_bytes: int) -> Any:
    """A value that many tasks need: itself if it is small, else a task of its own."""
    return value if n_bytes <= SMALL else delayed(value)


class Layer:
    """Tasks that become one layer of a graph.

    A task is known by its key, a text. Other tasks get the key as an argument in place of the
    result.
    """

    def __init__(self, name: str):
        self.name = f"{name}-{uuid4().hex}"
        self._tasks: dict[Any, Any] = {}
        self._inputs: dict[str, Delayed] = {}

    def task(self, function: Callable, *given: Any) -> str:
        """Add a task; the arguments are values, keys of tasks, and results of other graphs."""
        key = f"{function.__name__.strip('_')}-{self.name}-{len(self._tasks)}"
        for value in given:
            if isinstance(value, Delayed):
                self._inputs[value.key] = value
        known = (value.key if isinstance(value, Delayed) else value for value in given)
        self._tasks[key] = (function, *known)
        return key

    def entries(self, key: str, count: int) -> list[str]:
        """The first entries of the list that a task returns, each as a task."""
        return [self.task(getitem, key, i) for i in range(count)]

    def results(self, keys: Sequence[str]) -> list[Delayed]:
        """What some of the tasks return."""
        given: Any = list(self._inputs.values())
        graph = HighLevelGraph.from_collections(self.name, self._tasks, dependencies=given)
        return [Delayed(key, graph, layer=self.name) for key in keys]


def settled(parts: Sequence[Delayed]) -> list[Delayed]:
    """Results that are kept on workers, once they are there; the first error is raised."""
    futures = futures_of(list(parts))
    if futures:
        wait(futures)
        for future in futures:
            if future.status == "error":
                future.result()
    return list(parts)


def bundles_of(parts: Sequence[Delayed]) -> list[list[int]]:
    """Results that one thread has at hand, by their positions: a list per thread of each worker.

    Results in this process are spread over its processors.
    """
    futures = futures_of(list(parts))
    if not futures:
        n_threads = min(len(parts), os.cpu_count() or 1)
        return [bundle.tolist() for bundle in np.array_split(np.arange(len(parts)), n_threads)]
    client = futures[0].client
    places = client.who_has(futures)
    holders: dict[str, list[int]] = {}
    for p, part in enumerate(parts):
        workers = places.get(part.key) or ("",)
        holders.setdefault(workers[0], []).append(p)
    n_threads = client.nthreads()
    return [
        held[thread :: n_threads.get(worker, 1)]
        for worker, held in holders.items()
        for thread in range(min(len(held), n_threads.get(worker, 1)))
    ]


def in_groups(items: Sequence[Item], size: int) -> Iterator[Sequence[Item]]:
    """The items in groups of at most so many, for a task that merges each group."""
    return (items[start : start + size] for start in range(0, len(items), size))

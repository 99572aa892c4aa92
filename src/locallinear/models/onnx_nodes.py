"""Nodes of an ONNX graph, written as calls: `nodes("Add", a, b)` returns the name of the sum."""

from collections.abc import Iterator
from itertools import count
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray


class Nodes:
    """Nodes of a graph, one after the other; arrays among their inputs become its constants."""

    def __init__(self, onnx: ModuleType, outer: "Nodes | None" = None):
        self.onnx = onnx
        self.types = onnx.TensorProto
        self.nodes: list[Any] = []
        # The nodes of a loop use the constants of the graph around it.
        self.constants: list[Any] = [] if outer is None else outer.constants
        self._numbers: Iterator[int] = count() if outer is None else outer._numbers

    def __call__(self, operator: str, *inputs: Any, outputs: int = 1, **options: Any) -> Any:
        """Add a node; returns the name of its output, or the names of several."""
        names = [each if isinstance(each, str) else self.constant(each) for each in inputs]
        made = [f"{operator}_{next(self._numbers)}" for _ in range(outputs)]
        self.nodes.append(self.onnx.helper.make_node(operator, names, made, **options))
        return made[0] if outputs == 1 else made

    def constant(self, value: Any) -> str:
        """The name of an array that the graph holds."""
        array = np.asarray(value)
        if array.dtype.kind in "fi":
            array = array.astype(np.float64 if array.dtype.kind == "f" else np.int64)
        name = f"constant_{next(self._numbers)}"
        made = self.onnx.numpy_helper.from_array(np.ascontiguousarray(array).reshape(array.shape))
        made.name = name
        self.constants.append(made)
        return name

    def sum(self, values: str, axis: int = -1) -> str:
        """Sums along an axis, which stays with length 1."""
        return self("ReduceSum", values, [axis], keepdims=1)

    def output(
        self, name: str, value: str, shape: list[int | str], like: NDArray | None = None
    ) -> Any:
        """A value as an output of the graph: numbers, or what is in the array `like`."""
        self.nodes.append(self.onnx.helper.make_node("Identity", [value], [name]))
        by_kind = {"f": self.types.DOUBLE, "i": self.types.INT64, "O": self.types.STRING}
        kind = "f" if like is None else like.dtype.kind
        return self.onnx.helper.make_tensor_value_info(name, by_kind[kind], shape)

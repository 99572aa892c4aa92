"""Arrays and texts of very many rows in few characters, for a page that unpacks them.

Numbers that are repeated become codes of their values; others keep the precision of their type.
The bytes of an array are stored by place (all first bytes, all second bytes, ..), which compresses
better, and all arrays together are deflated and written in base64.
"""

import base64
import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

# How an array is unpacked: its type, its first byte and its length.
Place = list[Any]

# Columns with more different numbers have no codes.
MOST_CODES = 2**16


def deflated(content: bytes) -> str:
    """Bytes as base64 of their deflated form."""
    return base64.b64encode(zlib.compress(content, 9)).decode()


class Packer:
    """A growing list of arrays that are packed together."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._size = 0

    def add(self, array: NDArray, kind: str) -> Place:
        """Pack an array (n,) of a type: "u1", "u2", "u4", "f2", "f4" or "f8"."""
        values = np.ascontiguousarray(array, dtype=f"<{kind}")
        planes = values.view(np.uint8).reshape(len(values), -1).T
        place = [kind, self._size, len(values)]
        self._keep(planes.tobytes())
        return place

    def add_texts(self, texts: list[str]) -> Place:
        """Pack texts; line breaks in them become spaces."""
        content = "\n".join(" ".join(text.splitlines()) for text in texts).encode()
        place = ["text", self._size, len(content)]
        self._keep(content)
        return place

    def add_scaled(self, array: NDArray) -> dict[str, Any]:
        """Pack numbers (n,) with three digits each, whatever their size."""
        scale = float(np.abs(array).max(initial=0.0)) or 1.0
        return {"scale": scale, "part": self.add(array / scale, "f2")}

    def add_cells(self, cells: list[Any]) -> dict[str, Any]:
        """Pack the cells of a column: numbers, texts, and None where nothing is."""
        if any(isinstance(cell, str) for cell in cells):
            return self._add_codes([None if cell is None else str(cell) for cell in cells])
        numbers = np.array([np.nan if cell is None else cell for cell in cells], dtype=np.float64)
        values, codes = np.unique(numbers, return_inverse=True)
        if len(values) > min(MOST_CODES, len(numbers) // 2):
            return {"numbers": self.add(numbers, "f4")}
        return {"values": self.add(values, "f8"), "codes": self._add_small(codes)}

    def _add_codes(self, texts: list[str | None]) -> dict[str, Any]:
        """Pack texts that are repeated; the first code stands for nothing."""
        found = sorted({text for text in texts if text is not None})
        code = {text: k + 1 for k, text in enumerate(found)} | {None: 0}
        codes = np.array([code[text] for text in texts])
        return {"texts": self.add_texts(found), "codes": self._add_small(codes)}

    def _add_small(self, codes: NDArray) -> Place:
        most = int(codes.max(initial=0))
        return self.add(codes, "u1" if most < 2**8 else "u2" if most < 2**16 else "u4")

    def _keep(self, content: bytes) -> None:
        self._parts.append(content)
        self._size += len(content)

    def text(self) -> str:
        """All that was added, as a page holds it."""
        return deflated(b"".join(self._parts))

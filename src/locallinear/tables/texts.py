"""Columns of text with many different values: the frequent ones, and groups of similar others.

Values that occur often are categories of their own. The others are grouped by the letters that
they share, whatever the target: pieces of two to four letters are counted, and k-means finds the
groups. A text that was not in the training data belongs to the group that is most like it.
"""

from collections import Counter
from collections.abc import Set
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from sklearn.feature_extraction.text import HashingVectorizer

from .cells import cell_texts
from .columns import NO_VALUE, category_cells
from .kinds import MAX_CATEGORIES, Understood
from .table import Table, shortened

Array = NDArray[np.float64]

# Pieces of letters are counted in so many places.
N_PIECES = 256
MOST_GROUPS = 10
# A value is a category of its own if it occurs so often, and in this share of the rows.
LEAST_OFTEN, LEAST_SHARE = 5, 0.005

# Codes of more digits than this lose no zeros.
MOST_DIGITS = 64


@dataclass(frozen=True)
class TextColumn:
    """A column of text with many different values.

    Attributes
    ----------
    name : str
    frequent : tuple of str
        Values that are categories of their own, `NO_VALUE` among them if there were gaps.
    groups : tuple of str
        Names of the groups of the others.
    centers : tuple of tuples of float
        The mean counts of pieces in each group.
    n_digits : int
        The length of all texts, where these are numbers and some begin with zeros; else 0.
    """

    name: str
    frequent: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    centers: tuple[tuple[float, ...], ...] = ()
    n_digits: int = 0

    kind = "text"
    unit = ""
    has_gaps = False

    @classmethod
    def fit(cls, table: Table, name: str, found: Understood) -> "TextColumn":
        """The frequent values, and groups of the others."""
        cells = category_cells(table.frame[name])
        counts = Counter(cells.tolist())
        often = max(LEAST_OFTEN, LEAST_SHARE * len(cells))
        most = MAX_CATEGORIES - MOST_GROUPS
        frequent = {text for text, count in counts.most_common(most) if count >= often}
        frequent |= {NO_VALUE} & counts.keys()
        n_digits = _n_digits(counts.keys() - {NO_VALUE})
        rest = sorted(counts.keys() - frequent)
        if not rest:
            return cls(name, tuple(sorted(frequent)), n_digits=n_digits)
        pieces = count_pieces(rest)
        n_groups = min(MOST_GROUPS, max(1, len(rest) // 3), len(np.unique(pieces, axis=0)))
        weights = np.array([counts[text] for text in rest], dtype=np.float64)
        found_groups = KMeans(n_groups, n_init=1, random_state=0).fit(pieces, sample_weight=weights)
        centers = found_groups.cluster_centers_.round(6)
        labels = nearest(pieces, centers)
        names = [
            _group_name([t for t, g in zip(rest, labels, strict=True) if g == k], counts)
            for k in range(n_groups)
        ]
        kept = [k for k, group in enumerate(names) if group]
        return cls(
            name,
            tuple(sorted(frequent)),
            tuple(_different([names[k] for k in kept])),
            tuple(tuple(centers[k].tolist()) for k in kept),
            n_digits,
        )

    @property
    def texts(self) -> tuple[str | None, ...]:
        """The text that each feature stands for; None for a cell without a value."""
        return (*(None if c == NO_VALUE else c for c in self.frequent), *self.groups)

    @property
    def settings(self) -> Array:
        """The features of each text, and of any other text in the last row, (K + 1, f)."""
        return np.eye(len(self.texts) + 1)[:, :-1]

    @property
    def feature_names(self) -> list[str]:
        """Names of the features."""
        return [f"{self.name} is {c}" for c in (*self.frequent, *self.groups)]

    @property
    def indicators(self) -> list[int]:
        """Which of the features are 0 or 1."""
        return list(range(len(self.texts)))

    def encode(self, table: Table) -> Array:
        """The features of a table, (n, f)."""
        cells = category_cells(table.frame[self.name]).astype(str)
        if self.n_digits:  # a code that was read as a number has lost its zeros
            cells = np.array([c.zfill(self.n_digits) if c.isdecimal() else c for c in cells])
        values, inverse = np.unique(cells, return_inverse=True)
        codes = {text: k for k, text in enumerate(self.frequent)}
        chosen = np.array([codes.get(text, -1) for text in values], dtype=np.intp)
        others = np.flatnonzero((chosen < 0) & (values != NO_VALUE))
        if len(others) and self.groups:
            likest = nearest(count_pieces(values[others].tolist()), np.array(self.centers))
            chosen[others] = len(self.frequent) + likest
        return self.settings[chosen[inverse]]

    def shown(self, table: Table) -> Any:
        """The cells as a reader sees them: text, None for gaps."""
        return cell_texts(table.frame[self.name]).to_numpy(dtype=object)

    def became(self) -> str:
        """What the column became, in words."""
        frequent = f"{len(self.frequent)} frequent values and " if self.frequent else ""
        return f"{frequent}{len(self.groups)} groups of similar texts"

    def unseen(self, table: Table) -> str | None:
        """Nothing: a new text belongs to the group that is most like it."""
        return None


def _n_digits(texts: Set[str]) -> int:
    """The length of codes that are all as long, and some of which begin with zeros; else 0."""
    lengths = {len(text) if text.isdecimal() else 0 for text in texts}
    zeros = any(text.startswith("0") for text in texts)
    longest = max(lengths, default=0)
    return longest if zeros and len(lengths) == 1 and longest <= MOST_DIGITS else 0


def count_pieces(texts: list[str]) -> Array:
    """How often pieces of two to four letters occur in texts, as directions of length one."""
    counter = HashingVectorizer(
        analyzer="char_wb", ngram_range=(2, 4), n_features=N_PIECES, alternate_sign=False
    )
    return counter.transform(texts).toarray()


def nearest(pieces: Array, centers: Array) -> NDArray[np.intp]:
    """The number of the nearest centre of each row."""
    distances = (centers**2).sum(axis=1) - 2 * pieces @ centers.T
    return distances.argmin(axis=1)


def _group_name(members: list[str], counts: Counter) -> str:
    """A group by its most frequent members; empty for a group without members."""
    first = sorted(members, key=lambda text: (-counts[text], text))[:2]
    return f"like {' or '.join(shortened(text, 24) for text in first)}" if first else ""


def _different(names: list[str]) -> list[str]:
    """The names, with a number behind one that is there already."""
    out: list[str] = []
    for name in names:
        out.append(name if name not in out else f"{name} ({len(out) + 1})")
    return out

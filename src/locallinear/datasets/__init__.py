"""The data of the paper's experiments, and a simulated table.

Two synthetic sets are drawn when they are asked for: :func:`load_step` and :func:`load_moons`.
:func:`make_rentals` simulates a raw table, with text and gaps, whose laws are known.
Five public sets are downloaded from the UCI repository on first use, checked, converted to one tidy
CSV each (header row, inputs first, targets last, the source's digits and row order) and kept in a
folder:

1. the argument ``data_home``, where it is given;
2. else ``$LOCALLINEAR_DATA``, where it is set;
3. else ``.locallinear`` in the user's home.

A ``<name>.csv`` that is already in the folder is used as it is. On a machine without a network,
put the archive from the address in :mod:`locallinear.datasets._sources` into the folder, and it is
converted as if it had been downloaded.

The modules, in the order in which data pass them: ``_sources`` (addresses, checksums, licences) →
``_download`` (address to bytes) → ``_convert`` (original to tidy CSV) → ``_cache`` (tidy CSV to
Bunch) → ``_fetch`` (the public functions).
"""

from ._fetch import (
    fetch_concrete,
    fetch_parkinsons,
    fetch_qsar_aquatic_toxicity,
    fetch_qsar_fish_toxicity,
    fetch_superconductivity,
)
from ._rentals import make_rentals
from ._synthetic import load_moons, load_step

__all__ = [
    "fetch_concrete",
    "fetch_parkinsons",
    "fetch_qsar_aquatic_toxicity",
    "fetch_qsar_fish_toxicity",
    "fetch_superconductivity",
    "load_moons",
    "load_step",
    "make_rentals",
]

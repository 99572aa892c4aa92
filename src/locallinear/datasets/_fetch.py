"""The public ``fetch_*`` functions: one per data set, with scikit-learn's arguments."""

from typing import Any

from ._cache import Folder, fetch
from ._sources import (
    CONCRETE,
    PARKINSONS,
    QSAR_AQUATIC_TOXICITY,
    QSAR_FISH_TOXICITY,
    SUPERCONDUCTIVITY,
)


def fetch_concrete(
    *,
    data_home: Folder = None,
    download_if_missing: bool = True,
    return_X_y: bool = False,
    as_frame: bool = False,
) -> Any:
    """Concrete compressive strength: 1030 mixtures, 8 inputs, the strength in MPa (UCI 165).

    The original is an .xls file: its first conversion needs the extra `tables`.

    Parameters
    ----------
    data_home : path, default=None
        Folder of the tidy files; ``$LOCALLINEAR_DATA`` by default, else ``~/.locallinear``.
    download_if_missing : bool, default=True
        If False, raise an error where the folder lacks the set, and do not download it.
    return_X_y : bool, default=False
        Return ``(data, target)`` instead of a Bunch.
    as_frame : bool, default=False
        Give the data as a pandas DataFrame and the target as a Series.

    Returns
    -------
    Bunch or tuple
        ``data`` (1030, 8), ``target``, ``frame`` (None unless ``as_frame``), ``feature_names``,
        ``target_names``, ``DESCR`` (source, licence, citation), ``filename``.

    Raises
    ------
    OSError
        If neither the folder nor the network gives the data; the message has the address and the
        folder to put the file in.

    Examples
    --------
    >>> from locallinear.datasets import fetch_concrete
    >>> X, y = fetch_concrete(return_X_y=True)  # doctest: +SKIP
    >>> X.shape  # doctest: +SKIP
    (1030, 8)
    """
    (target,) = CONCRETE.targets
    return fetch(CONCRETE, target, data_home, download_if_missing, return_X_y, as_frame)


def fetch_superconductivity(
    *,
    data_home: Folder = None,
    download_if_missing: bool = True,
    return_X_y: bool = False,
    as_frame: bool = False,
) -> Any:
    """Superconductivity: 21263 materials, 81 inputs, the critical temperature in K (UCI 464).

    6,093 rows repeat the inputs of another row, so that random splits make every model look too
    good. No checksum of the original is known: its shape, header and numbers are checked instead.

    Parameters, result and errors are those of `fetch_concrete`; ``data`` is (21263, 81).

    Examples
    --------
    >>> from locallinear.datasets import fetch_superconductivity
    >>> X, y = fetch_superconductivity(return_X_y=True)  # doctest: +SKIP
    >>> X.shape  # doctest: +SKIP
    (21263, 81)
    """
    (target,) = SUPERCONDUCTIVITY.targets
    return fetch(SUPERCONDUCTIVITY, target, data_home, download_if_missing, return_X_y, as_frame)


def fetch_qsar_aquatic_toxicity(
    *,
    data_home: Folder = None,
    download_if_missing: bool = True,
    return_X_y: bool = False,
    as_frame: bool = False,
) -> Any:
    """QSAR aquatic toxicity: 546 molecules, 8 descriptors, LC50 for Daphnia magna (UCI 505).

    Parameters, result and errors are those of `fetch_concrete`; ``data`` is (546, 8).

    Examples
    --------
    >>> from locallinear.datasets import fetch_qsar_aquatic_toxicity
    >>> X, y = fetch_qsar_aquatic_toxicity(return_X_y=True)  # doctest: +SKIP
    >>> X.shape  # doctest: +SKIP
    (546, 8)
    """
    (target,) = QSAR_AQUATIC_TOXICITY.targets
    return fetch(
        QSAR_AQUATIC_TOXICITY, target, data_home, download_if_missing, return_X_y, as_frame
    )


def fetch_qsar_fish_toxicity(
    *,
    data_home: Folder = None,
    download_if_missing: bool = True,
    return_X_y: bool = False,
    as_frame: bool = False,
) -> Any:
    """QSAR fish toxicity: 908 molecules, 6 descriptors, LC50 for the fathead minnow (UCI 504).

    Parameters, result and errors are those of `fetch_concrete`; ``data`` is (908, 6).

    Examples
    --------
    >>> from locallinear.datasets import fetch_qsar_fish_toxicity
    >>> X, y = fetch_qsar_fish_toxicity(return_X_y=True)  # doctest: +SKIP
    >>> X.shape  # doctest: +SKIP
    (908, 6)
    """
    (target,) = QSAR_FISH_TOXICITY.targets
    return fetch(QSAR_FISH_TOXICITY, target, data_home, download_if_missing, return_X_y, as_frame)


def fetch_parkinsons(
    *,
    data_home: Folder = None,
    download_if_missing: bool = True,
    return_X_y: bool = False,
    as_frame: bool = False,
    target: str = "motor_UPDRS",
) -> Any:
    """Parkinsons telemonitoring: 5875 recordings of 42 people, 19 inputs, a UPDRS score (UCI 189).

    As in the paper, neither the subject nor the other score is an input. Each subject has 101 to
    168 rows, so that random splits make every model look too good: use ``groups`` for grouped ones.

    Parameters
    ----------
    data_home, download_if_missing, return_X_y, as_frame : as for `fetch_concrete`
    target : {"motor_UPDRS", "total_UPDRS"}, default="motor_UPDRS"
        Which of the two scores is the target.

    Returns
    -------
    Bunch or tuple
        As for `fetch_concrete`, with ``data`` (5875, 19) and ``groups`` (n,: the subject of each
        row).

    Examples
    --------
    >>> from locallinear.datasets import fetch_parkinsons
    >>> motor = fetch_parkinsons()  # doctest: +SKIP
    >>> motor.data.shape, len(set(motor.groups.tolist()))  # doctest: +SKIP
    ((5875, 19), 42)
    >>> total = fetch_parkinsons(target="total_UPDRS")  # doctest: +SKIP
    >>> total.target[0].item()  # doctest: +SKIP
    34.398
    """
    if target not in PARKINSONS.targets:
        raise ValueError(f"target should be one of {PARKINSONS.targets}; it is {target!r}.")
    return fetch(PARKINSONS, target, data_home, download_if_missing, return_X_y, as_frame)

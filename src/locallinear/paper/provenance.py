"""Where a result was made: versions, commit and machine."""

import os
import platform
import subprocess
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

PACKAGES = ("locallinear", "numpy", "scipy", "scikit-learn", "numba", "optuna")


@cache
def provenance() -> dict[str, Any]:
    """Versions, commit and machine of this process; no name of a person or a host.

    Examples
    --------
    >>> from locallinear.paper.provenance import provenance
    >>> sorted(provenance())
    ['code', 'machine', 'versions']
    """
    return {"versions": versions(), "code": commit(), "machine": machine()}


def versions() -> dict[str, str]:
    """Versions of Python and of the packages that decide numbers."""
    found = {"python": platform.python_version()}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def commit() -> str:
    """Commit of the source, with "-dirty" where files differ; "" for an installed package."""
    here = Path(__file__)
    git = ["git", "-C", str(here.parent)]
    try:
        # The package may be installed inside another repository; ours holds this file.
        subprocess.run([*git, "ls-files", "--error-unmatch", here.name], check=True, **QUIET)
        described = [*git, "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"]
        return subprocess.run(described, check=True, **QUIET).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return ""


QUIET: dict[str, Any] = {"capture_output": True, "text": True, "timeout": 30}


def machine() -> str:
    """Processor, cores and system, in words."""
    return f"{processor()}, {os.cpu_count()} cores, {platform.system()} {platform.machine()}"


def processor() -> str:
    """The processor's name."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or "unknown processor"
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else "unknown processor"

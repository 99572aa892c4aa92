"""Siblings: fitted models with one geometry, which differ in their anchors alone."""

from collections.abc import Sequence
from typing import Any


def groups_of(members: Sequence[Any]) -> list[list[Any]]:
    """Fitted models by the geometry that they share."""
    groups: dict[int, list[Any]] = {}
    for member in members:
        groups.setdefault(id(member.nearness), []).append(member)
    return list(groups.values())

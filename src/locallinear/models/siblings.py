"""Siblings: fitted models with one geometry, which differ in their anchors alone."""

from collections.abc import Sequence
from typing import Any


def groups_of(members: Sequence[Any]) -> list[list[Any]]:
    """Fitted models by the geometry that they share."""
    groups: dict[int, list[Any]] = {}
    for member in members:
        groups.setdefault(id(member.nearness), []).append(member)
    return list(groups.values())


def in_order_of(
    members: Sequence[Any], groups: Sequence[Sequence[Any]], updated: Sequence[Sequence[Any]]
) -> list[Any]:
    """The members of updated groups, in the order that they had before these were grouped."""
    of_member = {
        id(old): new
        for group, now in zip(groups, updated, strict=True)
        for old, new in zip(group, now, strict=True)
    }
    return [of_member[id(member)] for member in members]


def sharing_memory(members: Sequence[Any], others: Sequence[Any] = ()) -> list[Any]:
    """Models of the same samples, each holding what an earlier one or another one has already."""
    fitted = [other.fitted for other in others]
    shared = []
    for member in members:
        fitted.append(member.fitted.sharing_memory(fitted))
        shared.append(member.with_fitted(fitted[-1]))
    return shared

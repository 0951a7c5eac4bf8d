"""How much is tried: all of it in CI, and elsewhere what every round needs."""

import os

import pytest

IS_CI = os.environ.get("PERFLEDGER_ALL_TRIES") == "1"


def tries(count: int) -> int:
    """Return this number in CI, and a quarter of it elsewhere."""
    return count if IS_CI else count // 4


def is_ci_only(item: pytest.Item) -> bool:
    """Return whether a mark `slow(ci_only=True)` leaves this test to CI."""
    return any(mark.kwargs.get("ci_only", False) for mark in item.iter_markers("slow"))

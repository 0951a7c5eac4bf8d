"""How often a test tries what it draws at random."""

import os

IS_CI = os.environ.get("PERFLEDGER_ALL_TRIES") == "1"


def tries(count: int) -> int:
    """Return this number in CI, and a quarter of it elsewhere."""
    return count if IS_CI else count // 4

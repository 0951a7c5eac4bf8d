"""Separates work that moved between a workload's kernel families from work that was added."""

import math
from collections.abc import Sequence

from perfledger_baselines.history.commits.attribution import AttributedChange
from perfledger_baselines.history.commits.clusters import cluster_changes
from perfledger_baselines.history.segmentation.changepoints import NORMAL_QUANTILE

# Net change, as a share of the gain, below and above which work moved or did not. Share of what the
# slower families gained: a net change above the first is not moved work, however uncertain; one
# below the second is moved work, however certain.
MAX_NET_SHARE, SMALL_NET_SHARE = 0.25, 0.05


def moved_changes(changes: Sequence[AttributedChange]) -> frozenset[AttributedChange]:
    """Return a machine class's changes of a workload's kernel families that only moved work.

    These are changes at one place, some slower and others faster, whose sum does not differ
    significantly from zero and is a small share of what the slower ones gained: work that was
    renamed, fused, split, or is done by another operator.
    """
    return frozenset(
        change
        for group in cluster_changes(changes, belongs=lambda _one, _other: True)
        if _is_moved(group)
        for change in group
    )


def _is_moved(group: Sequence[AttributedChange]) -> bool:
    deltas = [one.change.after - one.change.before for one in group]
    gained = math.fsum(delta for delta in deltas if delta > 0)
    saved = -math.fsum(delta for delta in deltas if delta < 0)
    doubt = NORMAL_QUANTILE * math.hypot(*map(_spread, group))
    most = max(min(MAX_NET_SHARE * gained, doubt), SMALL_NET_SHARE * gained)
    return saved > 0 and abs(gained - saved) <= most


def _spread(family: AttributedChange) -> float:
    """Return the standard deviation of a family's gain; a level of zero has none."""
    width = (family.change.high - family.change.low) * family.change.before
    return width / 2 / NORMAL_QUANTILE if math.isfinite(width) else 0.0

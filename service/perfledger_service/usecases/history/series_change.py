"""Locates a change of a series between its commits."""

from collections.abc import Sequence

from perfledger_baselines.history.commits.attribution import AttributedChange
from perfledger_service.values.upload_views import SeriesChange


def series_change(attributed: AttributedChange, commits: Sequence[str]) -> SeriesChange:
    """Return a change of a series that was measured at these commits, oldest first."""
    change = attributed.change
    return SeriesChange(
        sha=commits[change.index],
        after_sha=commits[max(0, change.earliest - 1)],
        last_sha=commits[change.latest],
        change=change.change,
        low=change.low,
        high=change.high,
        has_new_environment=attributed.has_new_environment,
    )

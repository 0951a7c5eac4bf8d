"""Builds the history of a workload's kernel families: their seconds, and the changes in them."""

from collections.abc import Sequence
from itertools import groupby

from sqlmodel import Session

from perfledger.metrics import FAMILY_PREFIX
from perfledger_baselines.history.commits.attribution import (
    AttributedChange,
    ObservedSeries,
    attributed_changes,
)
from perfledger_baselines.history.commits.grouping import group_changes
from perfledger_baselines.history.commits.moved_cost import moved_changes
from perfledger_baselines.history.detection.detect import detect_many
from perfledger_service.store.default_branch import BranchSeries, branch_series, commits_of_branch
from perfledger_service.usecases.history.series_history import series_change
from perfledger_service.values.upload_views import FamilyChange, FamilyHistory, KernelHistory


def kernel_histories(session: Session, project_id: int, workload: str) -> tuple[KernelHistory, ...]:
    """Return the kernel families of a workload on the default branch, by device class.

    Their changes are those that are significant among all families of the device class.
    """
    series = branch_series(session, project_id, families_of=workload)
    if not series:
        return ()
    commits = commits_of_branch(session, project_id)
    by_class = groupby(
        sorted(series, key=lambda one: one.series.machine_class),
        key=lambda one: one.series.machine_class,
    )
    return tuple(_kernel_history(name, tuple(group), commits) for name, group in by_class)


def _kernel_history(
    device_class: str, series: Sequence[BranchSeries], commits: Sequence[str]
) -> KernelHistory:
    measured = sorted({position for one in series for position in one.positions})
    place_of = {position: place for place, position in enumerate(measured)}
    histories = detect_many([one.values for one in series], times=[one.times for one in series])
    observed = [
        ObservedSeries(
            series=one.series,
            commits=one.positions,
            changes=history.changes,
            environments=one.environments,
        )
        for one, history in zip(series, histories, strict=True)
    ]
    changes = [attributed_changes(one) for one in observed]
    without_cost = moved_changes([one for group in changes for one in group])
    significant = {
        member.change
        for event in group_changes(observed).events
        for member in event.members
        if member.is_significant
    }
    families = [
        FamilyHistory(
            series_id=one.id,
            name=one.series.metric.name.removeprefix(FAMILY_PREFIX),
            places=tuple(place_of[position] for position in one.positions),
            seconds=one.values,
            changes=_family_changes(
                one, [each for each in of_one if each in significant], without_cost, commits
            ),
        )
        for one, of_one in zip(series, changes, strict=True)
    ]
    return KernelHistory(
        device_class=device_class,
        commits=tuple(commits[position] for position in measured),
        families=tuple(sorted(families, key=lambda one: (-one.seconds[-1], one.name))),
    )


def _family_changes(
    series: BranchSeries,
    changes: Sequence[AttributedChange],
    without_cost: frozenset[AttributedChange],
    commits: Sequence[str],
) -> tuple[FamilyChange, ...]:
    shas = [commits[position] for position in series.positions]
    return tuple(
        FamilyChange(
            change=series_change(one.change, shas),
            added_s=one.change.after - one.change.before,
            is_moved=one in without_cost,
        )
        for one in changes
    )

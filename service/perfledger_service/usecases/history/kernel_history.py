"""Builds the history of a workload's kernel families: their seconds, and the changes in them."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import groupby

from sqlmodel import Session

from perfledger.metrics import FAMILY_PREFIX
from perfledger_baselines.history.commits.attribution import AttributedChange, attributed_changes
from perfledger_baselines.history.commits.family_gaps import short_times
from perfledger_baselines.history.commits.grouping import group_changes
from perfledger_baselines.history.commits.moved_cost import moved_changes
from perfledger_service.store.default_branch import BranchSeries, branch_series, commits_of_branch
from perfledger_service.usecases.history.branch_history import observed_series
from perfledger_service.usecases.history.series_change import series_change
from perfledger_service.values.upload_views import FamilyChange, FamilyHistory, KernelHistory


def kernel_histories(session: Session, project_id: int, workload: str) -> tuple[KernelHistory, ...]:
    """Return the kernel families of a workload on the default branch, by machine class.

    Their changes are significant among all families of the machine class.
    """
    series = [
        one for one in branch_series(session, project_id, families_of=workload) if any(one.values)
    ]
    if not series:
        return ()
    commits = commits_of_branch(session, project_id)
    by_class = groupby(
        sorted(series, key=lambda one: one.series.machine_class),
        key=lambda one: one.series.machine_class,
    )
    return tuple(_kernel_history(name, tuple(group), commits) for name, group in by_class)


def _kernel_history(
    machine_class: str, recorded: Sequence[BranchSeries], commits: Sequence[str]
) -> KernelHistory:
    conditions = {
        position: (environment, device, time)
        for one in recorded
        for position, environment, device, time in zip(
            one.positions, one.environments, one.devices, one.times, strict=True
        )
    }
    measured = sorted(conditions)
    place_of = {position: place for place, position in enumerate(measured)}
    series = [_with_short_times(one, conditions) for one in recorded]
    observed = observed_series(series)
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
        machine_class=machine_class,
        commits=tuple(commits[position] for position in measured),
        families=tuple(sorted(families, key=lambda one: (-one.seconds[-1], one.name))),
    )


def _with_short_times(
    family: BranchSeries, conditions: Mapping[int, tuple[str, str, float]]
) -> BranchSeries:
    """Return a family with times filled in where it was too short to be recorded."""
    recorded = dict(zip(family.positions, family.values, strict=True))
    values = recorded | short_times(recorded, conditions)
    positions = tuple(sorted(values))
    environments, devices, times = zip(*(conditions[one] for one in positions), strict=True)
    return replace(
        family,
        positions=positions,
        values=tuple(values[one] for one in positions),
        environments=environments,
        devices=devices,
        times=times,
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
            has_new_environment=one.has_new_environment,
        )
        for one in changes
    )

"""Builds the history of a workload's kernel families: their seconds, and the changes in them."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import groupby

from sqlmodel import Session

from perfledger.metrics import FAMILY_PREFIX
from perfledger_baselines.history.commits.attribution import AttributedChange, attributed_changes
from perfledger_baselines.history.commits.family_gaps import short_times
from perfledger_baselines.history.commits.grouping import significant_changes
from perfledger_baselines.history.commits.moved_cost import moved_changes
from perfledger_service.store.default_branch import BranchSeries, branch_series, commits_of_branch
from perfledger_service.usecases.history.observed_series import observed_series
from perfledger_service.usecases.history.series_change import series_change
from perfledger_service.values.upload_views import FamilyChange, FamilyHistory, KernelHistory


def kernel_histories(session: Session, project_id: int, workload: str) -> tuple[KernelHistory, ...]:
    """Return the kernel families of a workload on the default branch, by machine class.

    Their changes are significant among all families of the machine class.
    """
    recorded = recorded_families(session, project_id, workload)
    commits = commits_of_branch(session, project_id) if recorded else ()
    return tuple(_kernel_history(families, commits) for families in recorded)


def recorded_families(
    session: Session, project_id: int, workload: str
) -> tuple[tuple[BranchSeries, ...], ...]:
    """Return the kernel families of a workload on the default branch, a group for each class.

    Times are filled in where a family was too short to be recorded.
    """
    series = [
        one for one in branch_series(session, project_id, families_of=workload) if any(one.values)
    ]
    by_class = groupby(sorted(series, key=_machine_class), key=_machine_class)
    return tuple(_with_short_times(tuple(group)) for _, group in by_class)


def _machine_class(family: BranchSeries) -> str:
    return family.series.machine_class


def _kernel_history(series: Sequence[BranchSeries], commits: Sequence[str]) -> KernelHistory:
    measured = sorted({position for one in series for position in one.positions})
    place_of = {position: index for index, position in enumerate(measured)}
    observed = observed_series(series)
    changes = [attributed_changes(one) for one in observed]
    without_cost = moved_changes([one for group in changes for one in group])
    significant = significant_changes(observed)
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
        machine_class=series[0].series.machine_class,
        commits=tuple(commits[position] for position in measured),
        families=tuple(sorted(families, key=lambda one: (-one.seconds[-1], one.name))),
    )


def _with_short_times(families: Sequence[BranchSeries]) -> tuple[BranchSeries, ...]:
    """Return a machine class's families, each with its times where it was too short to record."""
    conditions = {
        position: (environment, device, time)
        for one in families
        for position, environment, device, time in zip(
            one.positions, one.environments, one.devices, one.times, strict=True
        )
    }
    return tuple(_filled_series(one, conditions) for one in families)


def _filled_series(
    family: BranchSeries, conditions: Mapping[int, tuple[str, str, float]]
) -> BranchSeries:
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
            change=series_change(one, shas),
            added_s=one.change.after - one.change.before,
            is_moved=one in without_cost,
        )
        for one in changes
    )

"""Selects the stored runs that serve as the baseline of a head.

The best baseline is measured in the same check, pair by pair: only the code differs. Otherwise a
head is compared with stored runs, and every other difference must be excluded: other machines,
other levels, code that the head does not contain. Several checks are better than a single commit:
all runs of one check share the machine's state, so only several checks show how much two of them
differ without a change.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import assert_never

from perfledger.metrics import Metric
from perfledger_baselines.history.commits.attribution import CommitRange

# As with pairs: Student's t at 95 % is 3.2 with four, 4.3 with three, 12.7 with two.
MIN_CHECKS = 4
# One more would reduce the error of the mean by 2 %, and would have older code than all the others.
MAX_CHECKS = 30


class BaselineKind(StrEnum):
    """The kinds of baseline, best first after the pinned one, which a person chose."""

    PINNED = "pinned"
    PAIR = "pair"
    WINDOW = "window"
    NEAREST_ANCESTOR = "nearest measured ancestor"


class Obstacle(StrEnum):
    """Why a run is not part of the baseline."""

    OTHER_MACHINE_CLASS = "of another machine class"
    LATER_COMMIT = "of a commit that the head does not contain"
    ACCEPTED_CHANGE = "from before a change that was accepted"
    OTHER_ENVIRONMENT = "of another epoch of the machine"
    OTHER_LEVEL = "from before the level changed"
    UNSURE_LEVEL = "of a commit where the level may or may not have changed"


class NoBaselineError(LookupError):
    """An error for a head without any usable baseline; its message says how to get one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BaselineCandidate:
    """A stored run of the series that needs a baseline.

    `commit` is the position of its commit in first-parent order of the default branch; runs of
    other branches are not candidates. `check` is the check that it was made in.
    """

    run: str
    check: str
    commit: int
    machine_class: str
    environment: str  # hash of the machine's fingerprint, which distinguishes epochs


@dataclass(frozen=True, slots=True, kw_only=True)
class AcceptedChange:
    """A person's acceptance of a new level of a workload's metric, from a commit on."""

    workload: str
    metric: str
    commit: int


@dataclass(frozen=True, slots=True, kw_only=True)
class BaselineRequest:
    """The series that needs a baseline, and the head to compare with it.

    `levels` has, for each confirmed change of this series, the commits that may have made it.
    """

    workload: str
    metric: Metric
    check: str
    merge_base: int  # position of the newest commit of the default branch that the head contains
    machine_class: str
    environment: str
    levels: tuple[CommitRange, ...] = ()
    accepted: tuple[AcceptedChange, ...] = ()  # for any series, those still in force
    pinned: str = ""  # the check that a person chose; "" if nobody did


@dataclass(frozen=True, slots=True, kw_only=True)
class BaselineSelection:
    """The runs to compare a head with, and the reason for choosing them."""

    kind: BaselineKind
    runs: tuple[BaselineCandidate, ...]  # newest first
    reason: str


def select_baseline(
    request: BaselineRequest, candidates: Iterable[BaselineCandidate]
) -> BaselineSelection:
    """Choose the baseline of a head, whatever the order of the candidates.

    In this order: the check that a person pinned; the base runs of the check itself; the runs of
    the newest MAX_CHECKS checks at the present level and epoch, if there are MIN_CHECKS; the
    runs of the nearest measured commit. Raises NoBaselineError: no baseline is never "no change".
    """
    ordered = sorted(candidates, key=lambda c: (-c.commit, c.check, c.run))
    if request.pinned:
        return _pinned_baseline(request, ordered)
    usable = [c for c in ordered if _obstacle(request, c) is None]
    pairs = [c for c in usable if c.check == request.check]
    checks = tuple(dict.fromkeys(c.check for c in usable))[:MAX_CHECKS]
    if pairs:
        nearest = [c for c in pairs if c.commit == pairs[0].commit]
        return _selection(request, BaselineKind.PAIR, nearest)
    if len(checks) >= MIN_CHECKS:
        window = [c for c in usable if c.check in checks]
        return _selection(request, BaselineKind.WINDOW, window)
    if usable:
        nearest = [c for c in usable if c.commit == usable[0].commit]
        return _selection(request, BaselineKind.NEAREST_ANCESTOR, nearest)
    raise NoBaselineError(_no_baseline(request, ordered))


def _pinned_baseline(
    request: BaselineRequest, ordered: Sequence[BaselineCandidate]
) -> BaselineSelection:
    """Take the pinned check despite any obstacle except another class of machine."""
    runs = [candidate for candidate in ordered if candidate.check == request.pinned]
    if not runs:
        msg = (
            f"the pinned baseline {request.pinned!r} of {_series(request)} is not among "
            f"the checks of {len(ordered)} stored runs: pin another check, or none"
        )
        raise NoBaselineError(msg)
    if runs[0].machine_class != request.machine_class:
        msg = (
            f"the pinned baseline {request.pinned!r} of {_series(request)} was made on "
            f"{runs[0].machine_class}: pin a check on {request.machine_class}, or none"
        )
        raise NoBaselineError(msg)
    return _selection(request, BaselineKind.PINNED, runs)


def _obstacle(request: BaselineRequest, candidate: BaselineCandidate) -> Obstacle | None:
    """Return why a run cannot be the baseline of the head; None if it can."""
    if candidate.machine_class != request.machine_class:
        return Obstacle.OTHER_MACHINE_CLASS
    if candidate.commit > request.merge_base:
        return Obstacle.LATER_COMMIT
    if any(
        candidate.commit < commit <= request.merge_base for commit in _accepted_commits(request)
    ):
        return Obstacle.ACCEPTED_CHANGE
    if candidate.check == request.check:
        return None  # the machine's state and the level of other checks do not matter
    if candidate.environment != request.environment:
        return Obstacle.OTHER_ENVIRONMENT
    return _level_obstacle(request, candidate.commit)


def _level_obstacle(request: BaselineRequest, commit: int) -> Obstacle | None:
    """Return why a commit is not at the merge base's level; None if it is."""
    if commit == request.merge_base:
        return None
    levels = [level for level in request.levels if level.first <= request.merge_base]
    if any(commit < level.first for level in levels):
        return Obstacle.OTHER_LEVEL
    return Obstacle.UNSURE_LEVEL if any(commit < level.last for level in levels) else None


def _accepted_commits(request: BaselineRequest) -> list[int]:
    """Return the commits at which a change of this series was accepted."""
    return [
        accepted.commit
        for accepted in request.accepted
        if (accepted.workload, accepted.metric) == (request.workload, request.metric.name)
    ]


def _selection(
    request: BaselineRequest, kind: BaselineKind, runs: Sequence[BaselineCandidate]
) -> BaselineSelection:
    return BaselineSelection(kind=kind, runs=tuple(runs), reason=_reason(request, kind, runs))


def _reason(
    request: BaselineRequest, kind: BaselineKind, selected: Sequence[BaselineCandidate]
) -> str:
    runs, place = _count_of_runs(len(selected)), _place(request, selected[0])
    weak = "not paired: measure the base in the same check for a more certain verdict"
    match kind:
        case BaselineKind.PINNED:
            obstacle = _obstacle(request, selected[0])
            although = f", although it is {obstacle}" if obstacle else ""
            return f"{runs} of check {selected[0].check}, {place}, pinned{although}; {weak}"
        case BaselineKind.PAIR:
            return f"{runs}, {place}, measured side by side with the head in this check"
        case BaselineKind.WINDOW:
            checks = len({candidate.check for candidate in selected})
            return (
                f"{runs} of the newest {checks} checks of this level and epoch, from "
                f"{_place(request, selected[-1])} to {place}; {weak}"
            )
        case BaselineKind.NEAREST_ANCESTOR:
            return (
                f"{runs}, {place}, the nearest measured commit; too few checks for a spread of "
                f"their own; {weak}"
            )
        case _ as unreachable:
            assert_never(unreachable)


def _no_baseline(request: BaselineRequest, ordered: Sequence[BaselineCandidate]) -> str:
    """Return why there is no baseline and how to get one."""
    counts = Counter(_obstacle(request, candidate) for candidate in ordered)
    obstacles = "; ".join(
        f"{_count_of_runs(counts[obstacle])} {obstacle}"
        for obstacle in Obstacle
        if counts[obstacle]
    )
    return (
        f"no baseline for {_series(request)} ({obstacles or 'no run is stored'}): measure the "
        f"merge base on {request.machine_class}, ideally in the same check as the head "
        "(`perfledger check`)"
    )


def _series(request: BaselineRequest) -> str:
    return f"{request.metric.name} of {request.workload!r} on {request.machine_class}"


def _place(request: BaselineRequest, candidate: BaselineCandidate) -> str:
    distance = request.merge_base - candidate.commit
    if distance == 0:
        return "at the merge base"
    side = "before" if distance > 0 else "after"
    return f"{_count_of_commits(abs(distance))} {side} the merge base"


def _count_of_commits(count: int) -> str:
    return "1 commit" if count == 1 else f"{count} commits"


def _count_of_runs(count: int) -> str:
    return "1 run" if count == 1 else f"{count} runs"

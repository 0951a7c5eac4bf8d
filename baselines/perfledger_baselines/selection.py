"""The runs that could be a baseline in, the ones that a head is held against and why out.

The best baseline is measured in the same check, pair by pair: nothing but the code is different.
Without it a head is held against what was stored, and everything that is not the code must be kept
out: other machines, other levels, code that the head does not contain. Of what is left a stretch of
checks comes before a single commit. What a machine does to one check is in all of its runs, so that
they tell one thing many times; only several checks say how far two of them lie apart by themselves.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import assert_never

from perfledger.metrics import Metric
from perfledger_baselines.history.attribution import CommitRange

# As with pairs: with four, Student's t at 95 % is 3.2, with three 4.3, with two 12.7.
FEWEST_CHECKS = 4
# One more would take 2 % off the error of the mean, and be of older code than all the others.
MOST_CHECKS = 30


class Kind(StrEnum):
    """What a baseline is; the best first, but for the pinned one that a person wants."""

    PINNED = "pinned"
    PAIR = "pair"
    WINDOW = "window"
    NEAREST_ANCESTOR = "nearest measured ancestor"


class Obstacle(StrEnum):
    """Why a run is no baseline, or not the one that was chosen."""

    OTHER_MACHINE_CLASS = "of another machine class"
    LATER_COMMIT = "of a commit that the head does not contain"
    ACCEPTED_CHANGE = "from before a change that was accepted"
    OTHER_ENVIRONMENT = "of another epoch of the machine"
    OTHER_LEVEL = "from before the level changed"
    UNSURE_LEVEL = "of a commit where the level may or may not have changed"
    NOT_NEEDED = "not as good as what was chosen"


class NoBaselineError(LookupError):
    """There is nothing that the head may be held against; says how to get something."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A stored run that measured the series a baseline is wanted for.

    `commit` is the position of its commit in first-parent order of the default branch; runs of
    other branches are no candidates. `check` is the check that it was made in.
    """

    run: str
    check: str
    commit: int
    machine_class: str
    environment: str  # hash of the machine's fingerprint, which tells epochs apart


@dataclass(frozen=True, slots=True, kw_only=True)
class AcceptedChange:
    """A person's word that a metric of a workload is to be at a new level from a commit on."""

    workload: str
    metric: str
    commit: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """The series that a baseline is wanted for, and the head that is to be held against it.

    `levels` are the commits that may have made each confirmed change of this series.
    """

    workload: str
    metric: Metric
    check: str
    merge_base: int  # position of the newest commit of the default branch that the head contains
    machine_class: str
    environment: str
    levels: tuple[CommitRange, ...] = ()
    accepted: tuple[AcceptedChange, ...] = ()  # of whatever series, as far as still in force
    pinned: str = ""  # the check that a person chose; "" if nobody did


@dataclass(frozen=True, slots=True)
class PassedOver:
    """A run that was not chosen, and why."""

    candidate: Candidate
    obstacle: Obstacle


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """The runs to hold a head against, and in words why these."""

    kind: Kind
    runs: tuple[Candidate, ...]  # newest first
    distance: int  # commits from the newest of them to the merge base; below 0 only if pinned
    reason: str
    passed_over: tuple[PassedOver, ...]

    @property
    def is_paired(self) -> bool:
        """Return whether base and head were measured back to back in one check."""
        return self.kind is Kind.PAIR


def select_baseline(
    wanted: Wanted,
    candidates: Iterable[Candidate],
    *,
    fewest: int = FEWEST_CHECKS,
    most: int = MOST_CHECKS,
) -> Selection:
    """Choose what to hold a head against, the order of candidates regardless.

    What a person pinned comes first; then the base runs of the check itself; then the runs of the
    newest `most` checks of the present level and epoch, if there are `fewest`; then the runs of the
    nearest commit that was measured. Raises NoBaselineError: no baseline is never "no change".
    Raises ValueError unless 1 <= fewest <= most.
    """
    if not 1 <= fewest <= most:
        msg = f"a window of {fewest} to {most} checks holds none: give 1 <= fewest <= most"
        raise ValueError(msg)
    ordered = sorted(candidates, key=lambda c: (-c.commit, c.check, c.run))
    if wanted.pinned:
        return _pinned(wanted, ordered)
    usable = [c for c in ordered if _obstacle(wanted, c) is None]
    pairs = [c for c in usable if c.check == wanted.check]
    checks = tuple(dict.fromkeys(c.check for c in usable))[:most]
    if pairs:
        nearest = [c for c in pairs if c.commit == pairs[0].commit]
        return _selection(wanted, Kind.PAIR, nearest, ordered)
    if len(checks) >= fewest:
        window = [c for c in usable if c.check in checks]
        return _selection(wanted, Kind.WINDOW, window, ordered)
    if usable:
        nearest = [c for c in usable if c.commit == usable[0].commit]
        return _selection(wanted, Kind.NEAREST_ANCESTOR, nearest, ordered)
    raise NoBaselineError(_nothing(wanted, ordered))


def _pinned(wanted: Wanted, ordered: Sequence[Candidate]) -> Selection:
    """Take the pinned check whatever speaks against it, except another class of machine."""
    chosen = [candidate for candidate in ordered if candidate.check == wanted.pinned]
    if not chosen:
        msg = (
            f"the pinned baseline {wanted.pinned!r} of {_series(wanted)} is not among "
            f"the checks of {len(ordered)} stored runs: pin another one, or none"
        )
        raise NoBaselineError(msg)
    if chosen[0].machine_class != wanted.machine_class:
        msg = (
            f"the pinned baseline {wanted.pinned!r} of {_series(wanted)} was made on "
            f"{chosen[0].machine_class}: pin a check on {wanted.machine_class}, or none"
        )
        raise NoBaselineError(msg)
    return _selection(wanted, Kind.PINNED, chosen, ordered)


def _obstacle(wanted: Wanted, candidate: Candidate) -> Obstacle | None:
    """Return what forbids to hold the head against a run; None if nothing does."""
    if candidate.machine_class != wanted.machine_class:
        return Obstacle.OTHER_MACHINE_CLASS
    if candidate.commit > wanted.merge_base:
        return Obstacle.LATER_COMMIT
    if any(candidate.commit < commit <= wanted.merge_base for commit in _accepted(wanted)):
        return Obstacle.ACCEPTED_CHANGE
    if candidate.check == wanted.check:
        return None  # What the machine and the level were in other checks does not matter here.
    if candidate.environment != wanted.environment:
        return Obstacle.OTHER_ENVIRONMENT
    return _level_obstacle(wanted, candidate.commit)


def _level_obstacle(wanted: Wanted, commit: int) -> Obstacle | None:
    """Tell whether a commit is of the level that the merge base is of; it itself always is."""
    if commit == wanted.merge_base:
        return None
    levels = [level for level in wanted.levels if level.first <= wanted.merge_base]
    if any(commit < level.first for level in levels):
        return Obstacle.OTHER_LEVEL
    return Obstacle.UNSURE_LEVEL if any(commit < level.last for level in levels) else None


def _accepted(wanted: Wanted) -> list[int]:
    """Return the commits at which this very series was accepted to change."""
    return [
        accepted.commit
        for accepted in wanted.accepted
        if (accepted.workload, accepted.metric) == (wanted.workload, wanted.metric.name)
    ]


def _selection(
    wanted: Wanted, kind: Kind, chosen: Sequence[Candidate], ordered: Sequence[Candidate]
) -> Selection:
    taken = set(chosen)
    return Selection(
        kind=kind,
        runs=tuple(chosen),
        distance=wanted.merge_base - chosen[0].commit,
        reason=_reason(wanted, kind, chosen),
        passed_over=tuple(
            PassedOver(candidate, _obstacle(wanted, candidate) or Obstacle.NOT_NEEDED)
            for candidate in ordered
            if candidate not in taken
        ),
    )


def _reason(wanted: Wanted, kind: Kind, chosen: Sequence[Candidate]) -> str:
    runs, place = _runs(len(chosen)), _place(wanted, chosen[0])
    weak = "not paired: measure the base in the same check for a firmer verdict"
    match kind:
        case Kind.PINNED:
            obstacle = _obstacle(wanted, chosen[0])
            although = f", although it is {obstacle}" if obstacle else ""
            return f"{runs} of check {chosen[0].check}, {place}, pinned{although}; {weak}"
        case Kind.PAIR:
            return f"{runs}, {place}, measured side by side with the head in this check"
        case Kind.WINDOW:
            checks = len({candidate.check for candidate in chosen})
            return (
                f"{runs} of the newest {checks} checks of this level and epoch, from "
                f"{_place(wanted, chosen[-1])} to {place}; {weak}"
            )
        case Kind.NEAREST_ANCESTOR:
            return (
                f"{runs}, {place}, the nearest that was measured; too few checks for a spread of "
                f"their own; {weak}"
            )
        case _ as unreachable:
            assert_never(unreachable)


def _nothing(wanted: Wanted, ordered: Sequence[Candidate]) -> str:
    """Say why there is no baseline and how to get one."""
    counts = Counter(_obstacle(wanted, candidate) for candidate in ordered)
    found = "; ".join(
        f"{_runs(counts[obstacle])} {obstacle}" for obstacle in Obstacle if counts[obstacle]
    )
    return (
        f"no baseline for {_series(wanted)} ({found or 'no run is stored'}): measure the merge "
        f"base on {wanted.machine_class}, best in the same check as the head (`perfledger check`)"
    )


def _series(wanted: Wanted) -> str:
    return f"{wanted.metric.name} of {wanted.workload!r} on {wanted.machine_class}"


def _place(wanted: Wanted, candidate: Candidate) -> str:
    distance = wanted.merge_base - candidate.commit
    if distance == 0:
        return "at the merge base"
    side = "before" if distance > 0 else "after"
    return f"{_commits(abs(distance))} {side} the merge base"


def _commits(count: int) -> str:
    return "1 commit" if count == 1 else f"{count} commits"


def _runs(count: int) -> str:
    return "1 run" if count == 1 else f"{count} runs"

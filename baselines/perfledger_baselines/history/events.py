"""The changes of many series in, one event for each thing that happened out.

One commit that makes everything slower is one event, not two hundred. Moves are put together when
their ranges share a commit or miss each other by no more than places are uncertain by, and every
move is held against all others of its event, not against the nearest: a chain of ranges that
overlap one by one stays as many events as there are commits needed to explain it.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from perfledger_baselines.family import benjamini_hochberg
from perfledger_baselines.history.attribution import (
    PLACE_ERROR_COMMITS,
    AttributionError,
    CommitRange,
    Harm,
    Move,
    Observed,
    Series,
    has_new_environment,
    moves_of,
    observations_around,
)

# Two unrelated workloads that moved within so few commits were most probably moved by one of them;
# among more, each may have a commit of its own, and one alert for both would hide the second.
FEW_COMMITS = 5
# Of those that are believed, so many may be false.
FALSE_DISCOVERY_RATE = 0.05
# A driver that slows one workload in two down is the farm's affair. Less is some commit's.
MOST_WORKLOADS = 0.5
# With a single workload "all of them moved" says nothing that the workload itself does not say.
FEWEST_WORKLOADS = 2
# A 5 % step shows by its third observation: with fewer, "did not move" only means "not yet".
FEWEST_OBSERVATIONS = 3


class OtherClasses(StrEnum):
    """What the same workloads did at the same commits on other machine classes."""

    CONFIRMED = "confirmed"  # they moved as well, everywhere
    CONTRADICTED = "contradicted"  # they moved nowhere
    MIXED = "mixed"
    UNKNOWN = "unknown"  # not measured elsewhere, or not often enough to say


@dataclass(frozen=True, slots=True)
class Member:
    """A move as part of an event, believed or not among all series that were watched."""

    move: Move
    adjusted_p: float  # Benjamini & Hochberg's
    is_believed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Commits at which related series moved to the worse, or to the better.

    `commits` are those that all believed members have in common; where places miss each other by a
    commit or two, those from one to the other. `members` are sorted by size, largest first.
    """

    commits: CommitRange
    harm: Harm
    members: tuple[Member, ...]
    watched: int  # series that were observed on both sides of these commits
    moved_elsewhere: tuple[Series, ...]  # same workload and metric, another class: moved as well
    still_elsewhere: tuple[Series, ...]  # ... and did not, though observed often enough
    has_new_environment: bool  # a member's machine changed there too: measure again to be sure

    @property
    def is_believed(self) -> bool:
        """Return whether any member is."""
        return any(member.is_believed for member in self.members)

    @property
    def moved_first(self) -> Move:
        """Return the move that is the first to be seen over; of these the most exactly placed."""
        moves = [member.move for member in self.members]
        return min(_believed(self.members) or moves, key=_seniority)

    @property
    def other_classes(self) -> OtherClasses:
        """Return whether other machine classes bear the event out."""
        match (bool(self.moved_elsewhere), bool(self.still_elsewhere)):
            case (True, False):
                return OtherClasses.CONFIRMED
            case (False, True):
                return OtherClasses.CONTRADICTED
            case (True, True):
                return OtherClasses.MIXED
            case _:
                return OtherClasses.UNKNOWN


@dataclass(frozen=True, slots=True, kw_only=True)
class EnvironmentChange:
    """Commits between which a machine class itself became another, and most workloads moved.

    A finding of its own, and nobody's regression. `still_elsewhere` are the same workloads and
    metrics on machines that did not change and that did not move: they bear it out.
    """

    machine_class: str
    commits: CommitRange
    members: tuple[Member, ...]
    moved_workloads: int
    watched_workloads: int  # that were measured before the machine changed and after
    still_elsewhere: tuple[Series, ...]


@dataclass(frozen=True, slots=True)
class Happenings:
    """All that happened to a repository's series, each move in exactly one place, oldest first."""

    events: tuple[Event, ...]
    environment_changes: tuple[EnvironmentChange, ...]


def find_events(histories: Sequence[Observed]) -> Happenings:
    """Put the changes of all series together to what happened, the order of series regardless.

    Give the series that did not move too: how many were watched decides whom to believe, and those
    on other machine classes bear witness. Raises AttributionError for a series that is given twice.
    """
    watch = _Watch(histories)
    environment_changes = _environment_changes(watch)
    explained = {member.move for change in environment_changes for member in change.members}
    rest = [move for move in watch.moves if move not in explained]
    events = [
        _event(group, harm, watch)
        for harm in Harm
        for group in group_moves([m for m in rest if m.harm is harm], belongs=_is_related)
    ]
    return Happenings(
        events=tuple(sorted(events, key=lambda e: (e.commits, e.harm, e.moved_first.series.key))),
        environment_changes=environment_changes,
    )


def group_moves(
    moves: Iterable[Move], *, belongs: Callable[[Move, Move], bool]
) -> tuple[tuple[Move, ...], ...]:
    """Divide moves into groups that one commit can explain, the order of moves regardless.

    The most exactly placed move of all begins the first group; each next one joins the group whose
    first move is the nearest of those it may join, or begins its own. Who is sure of the place thus
    says where, and who is not follows. No group has two moves of one series.
    """
    groups: list[_Group] = []
    for move in sorted(moves, key=_precision):
        open_to_it = [
            group
            for group in groups
            if group.can_take(move) and any(belongs(member, move) for member in group.moves)
        ]
        if open_to_it:
            min(open_to_it, key=lambda group: group.remoteness(move)).take(move)
        else:
            groups.append(_Group(move))
    return tuple(tuple(group.moves) for group in groups)


class _Group:
    """Moves of which no two miss each other by more than places are uncertain by.

    The latest `first` and the earliest `last` of its members say how far a new one may lie: ranges
    on a line have a commit in common exactly when every two of them have.
    """

    def __init__(self, move: Move) -> None:
        self.moves = [move]
        self._series = {move.series.key}
        self._latest_first = move.commits.first
        self._earliest_last = move.commits.last

    def can_take(self, move: Move) -> bool:
        first = max(self._latest_first, move.commits.first)
        last = min(self._earliest_last, move.commits.last)
        return first - last <= PLACE_ERROR_COMMITS and move.series.key not in self._series

    def take(self, move: Move) -> None:
        self.moves.append(move)
        self._series.add(move.series.key)
        self._latest_first = max(self._latest_first, move.commits.first)
        self._earliest_last = min(self._earliest_last, move.commits.last)

    def remoteness(self, move: Move) -> int:
        return self.moves[0].likely.distance(move.likely)


class _Watch:
    """All series and their moves, and the questions that are put to them."""

    def __init__(self, histories: Sequence[Observed]) -> None:
        self.histories = tuple(histories)
        times = Counter(observed.series.key for observed in histories)
        if twice := [key for key, count in times.items() if count > 1]:
            msg = f"series given twice: {sorted(twice)}: join the observations of each"
            raise AttributionError(msg)
        self.moves = [move for observed in self.histories for move in moves_of(observed)]
        ends = [(observed.commits[0], observed.commits[-1]) for observed in self.histories]
        self._begun, self._ended = np.array(ends, dtype=np.int64).reshape(-1, 2).T
        self._alike: defaultdict[tuple[str, str], list[Observed]] = defaultdict(list)
        for observed in self.histories:
            self._alike[_question(observed.series)].append(observed)

    def count(self, commits: CommitRange) -> int:
        """Return how many series were observed on both sides of these commits."""
        return int(((self._begun < commits.first) & (self._ended >= commits.last)).sum())

    def elsewhere(
        self, believed: Sequence[Move], commits: CommitRange
    ) -> tuple[tuple[Series, ...], tuple[Series, ...]]:
        """Return the same series of other classes: those that moved the same way, and those still.

        A machine that changed meanwhile is no witness, nor is a series with few observations.
        """
        moved: set[Series] = set()
        still: set[Series] = set()
        for move in believed:
            for other in self._alike[_question(move.series)]:
                is_same_class = other.series.machine_class == move.series.machine_class
                if is_same_class or has_new_environment(other, commits):
                    continue
                if any(_is_near(m, commits) and m.harm is move.harm for m in moves_of(other)):
                    moved.add(other.series)
                elif min(observations_around(other, commits)) >= FEWEST_OBSERVATIONS:
                    still.add(other.series)
        return _sorted(moved), _sorted(still)


def _environment_changes(watch: _Watch) -> tuple[EnvironmentChange, ...]:
    moves: defaultdict[str, list[Move]] = defaultdict(list)
    for move in watch.moves:
        if move.has_new_environment:
            moves[move.series.machine_class].append(move)
    found = [
        change
        for machine_class in moves
        for group in group_moves(moves[machine_class], belongs=lambda _one, _other: True)
        if (change := _environment_change(group, machine_class, watch)) is not None
    ]
    return tuple(sorted(found, key=lambda change: (change.commits, change.machine_class)))


def _environment_change(
    group: Sequence[Move], machine_class: str, watch: _Watch
) -> EnvironmentChange | None:
    """Return the change of the machines that these moves show; None if it is some commit's."""
    reach = _common(group)
    watched = {
        observed.series
        for observed in watch.histories
        if observed.series.machine_class == machine_class and has_new_environment(observed, reach)
    } | {move.series for move in group}
    members = _members(group, watched=len(watched))
    believed = _believed(members)
    moved_workloads = len({move.series.workload for move in believed})
    watched_workloads = len({series.workload for series in watched})
    commits = _common(believed or group)
    moved, still = watch.elsewhere(believed, commits)
    is_most = moved_workloads >= max(FEWEST_WORKLOADS, MOST_WORKLOADS * watched_workloads)
    # What moves as well on machines that stayed as they were is not moved by a machine.
    if not is_most or len(moved) > len(still):
        return None
    return EnvironmentChange(
        machine_class=machine_class,
        commits=commits,
        members=members,
        moved_workloads=moved_workloads,
        watched_workloads=watched_workloads,
        still_elsewhere=still,
    )


def _event(group: Sequence[Move], harm: Harm, watch: _Watch) -> Event:
    watched = max(watch.count(_common(group)), len(group))
    members = _members(group, watched=watched)
    to_go_by = _believed(members) or group
    commits = _common(to_go_by)
    moved, still = watch.elsewhere(to_go_by, commits)
    return Event(
        commits=commits,
        harm=harm,
        members=members,
        watched=watched,
        moved_elsewhere=moved,
        still_elsewhere=still,
        has_new_environment=any(move.has_new_environment for move in to_go_by),
    )


def _members(group: Sequence[Move], *, watched: int) -> tuple[Member, ...]:
    """Decide whom to believe among all series that could have moved, and sort by size.

    A series that was watched and did not move counts as p = 1, and so does one that moved the other
    way: the family is then no smaller than the one that was looked at.
    """
    p_values = np.ones(watched)
    p_values[: len(group)] = [move.p_value for move in group]
    members = [
        Member(move, float(p), bool(p <= FALSE_DISCOVERY_RATE))
        for move, p in zip(group, benjamini_hochberg(p_values)[: len(group)], strict=True)
    ]
    return tuple(sorted(members, key=lambda m: (-m.move.size, m.move.series.key)))


def _believed(members: Sequence[Member]) -> list[Move]:
    return [member.move for member in members if member.is_believed]


def _common(moves: Sequence[Move]) -> CommitRange:
    """Return the commits that all have in common, or those between the two that miss each other."""
    ends = (max(m.commits.first for m in moves), min(m.commits.last for m in moves))
    return CommitRange(min(ends), max(ends))


def _is_related(one: Move, other: Move) -> bool:
    """Tell whether moves at the same commits are one event: kin, or both placed exactly."""
    is_exact = max(one.likely.count, other.likely.count) <= FEW_COMMITS
    return one.series.module == other.series.module or (
        is_exact and one.likely.distance(other.likely) == 0
    )


def _is_near(move: Move, commits: CommitRange) -> bool:
    return move.commits.distance(commits) <= PLACE_ERROR_COMMITS


def _precision(move: Move) -> tuple[int, int, int, float, tuple[str, str, str], int]:
    """Return what sorts the most exactly placed first; total, so that equal moves never tie."""
    commits = move.commits
    return (
        commits.count,
        move.likely.count,
        commits.first,
        move.p_value,
        move.series.key,
        move.change.index,
    )


def _seniority(move: Move) -> tuple[int, int, float, tuple[str, str, str]]:
    """Return what sorts those first that had moved first, as far as observations can tell."""
    return (move.commits.last, move.commits.count, -move.size, move.series.key)


def _question(series: Series) -> tuple[str, str]:
    """Return what is the same for a series on any machine class."""
    return (series.workload, series.metric.name)


def _sorted(series: Iterable[Series]) -> tuple[Series, ...]:
    return tuple(sorted(series, key=lambda one: one.key))

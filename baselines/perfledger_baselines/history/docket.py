"""What is suspected, asked, searched for and settled about recent commits, as values to store."""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import isfinite
from typing import Self

from perfledger_baselines.history.attribution import CommitRange, Harm, Series, harm_of
from perfledger_baselines.history.findings import Suspect
from perfledger_baselines.verdict import Estimate

# In 1 % noise eight pairs bear out 99 of 100 changes of 3 % and 73 of 2 %. Fifteen would bear out
# 99 of those as well, at twice the price of every suspicion that was none.
MAX_PAIRS = 8
# Where a series seems to have moved is uncertain by an observation or two. A base that is surely
# good costs two more A/Bs of a change that is confirmed; one that is not loses the change.
CERTAINLY_BEFORE = 2
# At half a minute a pair, about an hour and a half of a device.
PAIRS_PER_WINDOW = 200


class ConfirmationError(ValueError):
    """A suspicion, limit or answer that makes no sense."""


class Purpose(StrEnum):
    """What an A/B is asked for; the commit of a known change comes before another suspicion."""

    BISECT = "bisect"
    CONFIRM = "confirm"


class Narrowing(StrEnum):
    """How far the commits of an alert have been narrowed down, and why no further."""

    ONE_COMMIT = "one commit is left"
    UNDER_WAY = "being narrowed down"
    UNDECIDED = "the A/Bs between them could not tell"
    NOT_MEASURED = "the commits between them cannot be measured"


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What confirming may cost. Raises ConfirmationError where that is not even one A/B."""

    max_pairs: int = MAX_PAIRS
    pairs_per_window: int = PAIRS_PER_WINDOW

    def __post_init__(self) -> None:
        if not 0 < self.max_pairs <= self.pairs_per_window:
            msg = (
                f"{self.pairs_per_window} pairs a window do not pay for an A/B of "
                f"{self.max_pairs} pairs: allow at least one A/B"
            )
            raise ConfirmationError(msg)


@dataclass(frozen=True, slots=True, kw_only=True)
class Suspicion:
    """A series whose last points look as if it had moved. Positions are in first-parent order.

    `good` is the last commit that is surely of the old level and `bad` the first that is surely of
    the new one: the parent and its child where nothing was skipped and one point says it all, wider
    apart where the place is uncertain. An A/B of two commits between which nothing happened ends
    a suspicion for good. Raises ConfirmationError.
    """

    series: Series
    good: int
    bad: int
    newest: int  # the last commit that the suspicion rests on
    change: float  # relative, as predicted from the series
    strength: float  # in standard deviations of the series' noise
    pair_seconds: float  # what an A/B pair of the workload takes
    devices: tuple[str, ...] = ()  # that the odd points were read on, as far as they say so

    @classmethod
    def from_suspect(
        cls, suspect: Suspect, *, series: Series, commits: Sequence[int], pair_seconds: float
    ) -> Self:
        """Return the commits to measure for the odd end of a series.

        `commits` are the positions at which the series was observed, increasing, the newest last;
        `suspect.index` is one of them. The newest is held against the one CERTAINLY_BEFORE places
        before the first odd one. Raises ConfirmationError, also for a change that is relative to
        nothing: no A/B could confirm it.
        """
        first_odd = bisect_left(commits, suspect.index)
        return cls(
            series=series,
            good=commits[max(first_odd - CERTAINLY_BEFORE, 0)],
            bad=commits[-1],
            newest=commits[-1],
            change=suspect.change,
            strength=suspect.strength,
            pair_seconds=pair_seconds,
        )

    def __post_init__(self) -> None:
        is_placed = 0 <= self.good < self.bad <= self.newest
        sizes = (abs(self.change), self.strength, self.pair_seconds)
        if not is_placed or not all(size > 0 and isfinite(size) for size in sizes):
            msg = (
                f"{self} is no suspicion: give good < bad <= newest, a change other than zero, "
                "and what is finite and above zero for strength and seconds"
            )
            raise ConfirmationError(msg)

    @property
    def commits(self) -> CommitRange:
        """Return the commits that may have done it."""
        return CommitRange(self.good + 1, self.bad)

    @property
    def harm(self) -> Harm:
        """Return whether it looks worse or better."""
        return harm_of(self.series.metric, self.change)


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """An A/B to measure: `head` against `base` with all metrics of one workload, as a check does.

    `priority` is what it may find per second of the device: strength, times the share of this
    workload's earlier A/Bs that found something, over the seconds of all pairs.
    """

    workload: str
    machine_class: str
    base: int
    head: int
    max_pairs: int
    purpose: Purpose
    priority: float
    window: str  # whose pairs it is counted among


@dataclass(frozen=True, slots=True)
class Confirmed:
    """A suspicion that an A/B bore out, and what the A/B of the fewest commits said.

    `leaning` is the logarithm of how much more probable the A/Bs of the present middle are if the
    change happened by then than if it came later.
    """

    suspicion: Suspicion
    estimate: Estimate
    leaning: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Alert:
    """A change that was seen twice, by the history and by an A/B of its own.

    Several may follow each other for one change while it is narrowed down: `suspected` stays what
    it was, `commits` shrinks, and metrics that turn out to have moved at different commits part.
    """

    workload: str
    machine_class: str
    suspected: CommitRange
    commits: CommitRange
    changes: tuple[Confirmed, ...]
    narrowing: Narrowing
    pairs: int  # spent on it so far

    @property
    def is_final(self) -> bool:
        """Return whether no other alert of this change will follow."""
        return self.narrowing is not Narrowing.UNDER_WAY


@dataclass(frozen=True, slots=True)
class Trial:
    """A request under way that will convict or clear its suspicions."""

    request: Request
    suspicions: tuple[Suspicion, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """A confirmed change whose commit lies after `good` and not after `bad`."""

    workload: str
    machine_class: str
    suspected: CommitRange
    good: int
    bad: int
    changes: tuple[Confirmed, ...]
    pairs: int
    skipped: tuple[int, ...] = ()  # commits in between that cannot be measured
    tries: int = 0  # A/Bs of the present middle
    request: Request | None = None  # the A/B that is under way

    @property
    def commits(self) -> CommitRange:
        """Return the commits that are left."""
        return CommitRange(self.good + 1, self.bad)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """A question that an A/B has answered, so that it is not asked again."""

    series: Series
    harm: Harm
    commits: CommitRange
    newest: int
    strength: float  # that a new suspicion must well exceed; 0 if nothing could be measured
    is_confirmed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Docket:
    """All that is being asked and has been settled: the state from one call to the next."""

    trials: tuple[Trial, ...] = ()
    searches: tuple[Search, ...] = ()
    settled: tuple[Settled, ...] = ()
    window: str = ""
    pairs: int = 0  # of this window, spent or promised

    @property
    def requests(self) -> tuple[Request, ...]:
        """Return the A/Bs that are under way, each once."""
        searched = (search.request for search in self.searches if search.request is not None)
        return tuple(dict.fromkeys((*(trial.request for trial in self.trials), *searched)))

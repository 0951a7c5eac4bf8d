"""Holds the state of confirming changes: candidates, A/B requests, bisections and answers."""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import isfinite
from typing import Self

from perfledger_baselines.history.commits.attribution import CommitRange, Harm, Series, harm_of
from perfledger_baselines.history.detection.changes import Suspect
from perfledger_baselines.judging.verdict import EffectEstimate

# In 1 % noise eight pairs confirm 99 of 100 changes of 3 % and 73 of 2 %. Fifteen pairs would
# confirm 99 of those too, at twice the cost for every candidate that is no change.
MAX_PAIRS = 8
# The place of a change is uncertain by an observation or two. A base that is surely good costs two
# more A/Bs for a confirmed change; a base that is not misses the change.
CERTAINLY_BEFORE = 2
# At half a minute per pair, about an hour and a half of a device.
PAIRS_PER_WINDOW = 200


class ConfirmationError(ValueError):
    """An invalid candidate, limit or answer."""


class AbPurpose(StrEnum):
    """The purpose of an A/B; bisecting a confirmed change goes before the next candidate."""

    BISECT = "bisect"
    CONFIRM = "confirm"


class BisectionStatus(StrEnum):
    """How far an alert's commits are narrowed down, and why no further."""

    ONE_COMMIT = "one commit is left"
    UNDER_WAY = "being narrowed down"
    UNDECIDED = "the A/B runs between them are undecided"
    NOT_MEASURED = "the commits between them cannot be measured"


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfirmationLimits:
    """The cost limits of confirmation. Raises ConfirmationError below the cost of one A/B."""

    max_pairs: int = MAX_PAIRS
    pairs_per_window: int = PAIRS_PER_WINDOW

    def __post_init__(self) -> None:
        if not 0 < self.max_pairs <= self.pairs_per_window:
            msg = (
                f"{self.pairs_per_window} pairs per window are fewer than the {self.max_pairs} of "
                "an A/B: allow at least one A/B"
            )
            raise ConfirmationError(msg)


@dataclass(frozen=True, slots=True, kw_only=True)
class AbCandidate:
    """A possible change that an A/B can confirm. Positions are in first-parent order.

    `good` is the last commit that is surely at the old level and `bad` the first that is surely at
    the new one: parent and child if no commit was skipped and one point is clear, further apart if
    the place is uncertain. An A/B that shows no change between them rejects the candidate for good.
    Raises ConfirmationError.
    """

    series: Series
    good: int
    bad: int
    newest: int  # the last commit that supports the candidate
    change: float  # relative, as predicted from the series
    strength: float  # in standard deviations of the series' noise
    pair_seconds: float  # what an A/B pair of the workload takes
    devices: tuple[str, ...] = ()  # of the odd points, if known

    @classmethod
    def from_suspect(
        cls, suspect: Suspect, *, series: Series, commits: Sequence[int], pair_seconds: float
    ) -> Self:
        """Return the commits to measure for the odd end of a series.

        `commits` are the positions at which the series was observed, increasing, the newest last;
        `suspect.index` is one of them. The newest is compared with the one CERTAINLY_BEFORE places
        before the first odd one. Raises ConfirmationError, including for a change relative to zero,
        which no A/B could confirm.
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
                f"{self} is not a candidate: use good < bad <= newest, a change other than 0, and "
                "finite values above 0 for strength and seconds"
            )
            raise ConfirmationError(msg)

    @property
    def commits(self) -> CommitRange:
        """Return the commits that may have made the change."""
        return CommitRange(self.good + 1, self.bad)

    @property
    def harm(self) -> Harm:
        """Return whether the change looks worse or better."""
        return harm_of(self.series.metric, self.change)


@dataclass(frozen=True, slots=True, kw_only=True)
class AbRequest:
    """An A/B to measure: `head` against `base` with all metrics of one workload, as a check does.

    `priority` is the expected gain per device-second: strength times the share of this workload's
    earlier A/Bs that confirmed a change, divided by the seconds of all pairs.
    """

    workload: str
    machine_class: str
    base: int
    head: int
    max_pairs: int
    purpose: AbPurpose
    priority: float
    window: str  # whose limit its pairs count towards


@dataclass(frozen=True, slots=True)
class ConfirmedChange:
    """A candidate that an A/B confirmed, with the estimate of the A/B over the fewest commits.

    `log_likelihood_ratio` compares, over the A/Bs of the present middle, two hypotheses: the change
    happened by then, or later.
    """

    candidate: AbCandidate
    estimate: EffectEstimate
    log_likelihood_ratio: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Alert:
    """A change that the history shows and an A/B confirmed.

    One change may have several alerts while it is narrowed down: `suspected_range` stays, `commits`
    shrinks, and metrics that turn out to have changed at different commits get separate alerts.
    """

    workload: str
    machine_class: str
    suspected_range: CommitRange
    commits: CommitRange
    changes: tuple[ConfirmedChange, ...]
    narrowing: BisectionStatus
    pairs: int  # spent on it so far

    @property
    def is_final(self) -> bool:
        """Return whether no other alert of this change will follow."""
        return self.narrowing is not BisectionStatus.UNDER_WAY


@dataclass(frozen=True, slots=True)
class PendingConfirmation:
    """A request under way that will confirm or reject its candidates."""

    request: AbRequest
    candidates: tuple[AbCandidate, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Bisection:
    """A confirmed change whose commit lies after `good` and not after `bad`."""

    workload: str
    machine_class: str
    suspected_range: CommitRange
    good: int
    bad: int
    changes: tuple[ConfirmedChange, ...]
    pairs: int
    skipped: tuple[int, ...] = ()  # commits in between that cannot be measured
    tries: int = 0  # A/Bs of the present middle
    request: AbRequest | None = None  # the A/B that is under way

    @property
    def commits(self) -> CommitRange:
        """Return the commits that may still have made the change."""
        return CommitRange(self.good + 1, self.bad)


@dataclass(frozen=True, slots=True, kw_only=True)
class AnsweredCandidate:
    """A candidate that an A/B has answered, so that it is not requested again."""

    series: Series
    harm: Harm
    commits: CommitRange
    newest: int
    strength: float  # that a new candidate must well exceed; 0 if nothing could be measured
    is_confirmed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfirmationState:
    """All pending and answered questions: the state carried from one call to the next."""

    pending_confirmations: tuple[PendingConfirmation, ...] = ()
    bisections: tuple[Bisection, ...] = ()
    answered_candidates: tuple[AnsweredCandidate, ...] = ()
    window: str = ""
    pairs: int = 0  # of this window, spent or promised

    @property
    def requests(self) -> tuple[AbRequest, ...]:
        """Return the A/Bs under way, each once."""
        bisecting = (search.request for search in self.bisections if search.request is not None)
        return tuple(
            dict.fromkeys((*(trial.request for trial in self.pending_confirmations), *bisecting))
        )

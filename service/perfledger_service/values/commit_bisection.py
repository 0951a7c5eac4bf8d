"""Holds the result of bisecting a range of commits."""

from dataclasses import dataclass
from enum import StrEnum

from perfledger.metrics import Metric
from perfledger.records import Revision
from perfledger_baselines.history.commits.search import SearchStatus
from perfledger_baselines.judging.verdict import Verdict
from perfledger_service.values.check_options import NO_OPTIONS, CheckOptions
from perfledger_service.values.report import ExitCode, Report


class CommitState(StrEnum):
    """State of a commit in a bisection."""

    GOOD = "good"
    BAD = "bad"
    BEFORE = "without the change"
    AFTER = "with the change"
    UNSURE = "unsure"
    SKIPPED = "skipped"
    UNTOUCHED = "not built"


@dataclass(frozen=True, slots=True, kw_only=True)
class BisectedCommit:
    """A commit of the range; `change`, `low` and `high` are relative to the good commit.

    They are None if there are no pairs of the two. `chance` is the probability that this commit is
    the first with the change. `reason` says why it was skipped.
    """

    position: int  # 0: the good commit
    revision: Revision
    state: CommitState
    pairs: int
    chance: float
    change: float | None = None
    low: float | None = None
    high: float | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class FurtherChange:
    """A change in the range made by another commit, and the command that searches for it."""

    change: float  # relative
    good: Revision
    bad: Revision


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitBisection:
    """How a range of commits was bisected: the answer is the commits `first` to `last`.

    `chance` is their probability together. `ends` is the verdict on the bad commit against the good
    one, None if not even that was measured. `report` is the check of the found commit against its
    parent. `pairs_needed` is how many pairs per commit would separate the levels, None if the range
    is as narrow as it can be. `merged` are the commits of the branch that the found commit merged,
    after the one before them; () if it is no merge.
    """

    workload: str
    metric: Metric
    status: SearchStatus
    first: int
    last: int
    chance: float
    commits: tuple[BisectedCommit, ...]
    ends: Verdict | None
    builds: int
    pairs: int
    seconds: float
    budget_s: float
    is_out_of_budget: bool = False
    pairs_needed: int | None = None
    seconds_needed: float | None = None
    further_changes: tuple[FurtherChange, ...] = ()
    merged: tuple[Revision, ...] = ()
    unexplained: float | None = None  # relative change that the found commit does not explain
    report: Report | None = None
    notes: tuple[str, ...] = ()
    options: CheckOptions = NO_OPTIONS

    @property
    def good(self) -> BisectedCommit:
        """Return the good end."""
        return self.commits[0]

    @property
    def bad(self) -> BisectedCommit:
        """Return the bad end."""
        return self.commits[-1]

    @property
    def candidates(self) -> tuple[BisectedCommit, ...]:
        """Return the commits that may contain the change."""
        return self.commits[self.first : self.last + 1]

    @property
    def exit_code(self) -> ExitCode:
        """Return the exit code: 0 only for a single commit."""
        match self.status:
            case SearchStatus.FOUND:
                return ExitCode.OK
            case SearchStatus.UNCHANGED:
                return ExitCode.NO_DIFFERENCE
            case SearchStatus.NOT_MEASURED | SearchStatus.UNDECIDED:
                return ExitCode.UNCERTAIN

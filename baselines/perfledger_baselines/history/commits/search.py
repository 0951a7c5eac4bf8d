"""Searches a range of commits for the one that changed a workload, by noisy pairs.

A noisy bisection: Horstein, "Sequential transmission using noiseless feedback", IEEE Transactions
on Information Theory 9 (1963); Waeber, Frazier & Henderson, "Bisection search with noisy
responses", SIAM Journal on Control and Optimization 51 (2013). Every commit of the range is a
hypothesis: that it is the first with the change. A pair of any two commits updates the probability
of each: their difference is the whole change if the hypothesised commit lies between them, and none
if not. A commit is built only when the interval between two built ones holds the change with
probability SURE, and it halves that interval; doubt costs more pairs of commits already built, not
a build.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property
from itertools import pairwise
from statistics import NormalDist, fmean
from typing import Self

from perfledger.metrics import Metric
from perfledger_baselines.estimation.pairing import Pair, tests_of
from perfledger_baselines.history.commits.pair_distribution import (
    likely_center,
    log_density,
    pooled_scale,
)
from perfledger_baselines.judging.judge import judge_tests
from perfledger_baselines.judging.verdict import Outcome, Verdict
from perfledger_baselines.significance.decision_rule import DecisionRule
from perfledger_baselines.significance.paired_t_tests import MIN_SPREAD

# The probability required of the interval that is halved next, and of the answer.
SURE = 0.99
# Least difference of a commit's own level from both ends, as a share and in standard errors. A
# commit has a level of its own if it differs from both ends by this share of the whole change, and
# by this many standard errors. A code layout that shifts a step by less is not a separate change.
OWN_SHARE, OWN_ERRORS = 0.2, 3.0
# At least this many pairs with each end before a commit can have a level of its own.
MIN_FOR_LEVEL = 3
# Times the most pairs of a commit: the limit of tries if some pairs do not read the metric.
MAX_TRIES = 2
# A bound for what `pairs_needed` says.
MAX_NEEDED = 10_000
# `pairs_needed` averages over the percentiles of a normal distribution.
PERCENTILES = 100

Ends = tuple[int, int]


class SearchStatus(StrEnum):
    """How a search ended."""

    FOUND = "found"
    NOT_MEASURED = "the commits between cannot be measured"
    UNCHANGED = "the ends do not differ"
    UNDECIDED = "undecided"


@dataclass(frozen=True, slots=True)
class Comparison:
    """A pair to measure: `head` against `base`, as positions in first-parent order."""

    base: int
    head: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchEnd:
    """The answer of a search: the change was made by one of the commits `first` to `last`.

    `chance` is their total probability, given that one commit made the change between the ends.
    """

    status: SearchStatus
    first: int
    last: int
    chance: float


@dataclass(frozen=True, slots=True)
class OtherChange:
    """A further change in the range, after `base` up to `head`; `change` is relative."""

    base: int
    head: int
    change: float


@dataclass(frozen=True, kw_only=True)
class CommitSearch:
    """The pairs of a search so far; the change lies after `good`, up to `bad`.

    `rule` decides whether the ends differ at all, and its last look is the most pairs of a commit.
    `skipped` are the commits that cannot be measured; `other_changes` are left for later searches.
    """

    workload: str
    metric: Metric
    rule: DecisionRule
    good: int
    bad: int
    pairs: Mapping[Ends, tuple[Pair, ...]] = field(default_factory=dict[Ends, tuple[Pair, ...]])
    skipped: frozenset[int] = frozenset()
    other_changes: tuple[OtherChange, ...] = ()

    def with_pairs(self, base: int, head: int, pairs: Sequence[Pair]) -> Self:
        """Return the search with further pairs of two commits."""
        ends = (base, head)
        return replace(self, pairs={**self.pairs, ends: (*self.pairs.get(ends, ()), *pairs)})

    def without(self, commit: int) -> Self:
        """Return the search without a commit that cannot be measured, and without its pairs."""
        remaining_pairs = {ends: pairs for ends, pairs in self.pairs.items() if commit not in ends}
        return replace(self, pairs=remaining_pairs, skipped=self.skipped | {commit})

    @property
    def measured_commits(self) -> tuple[int, ...]:
        """Return the measured commits of the present range, ends included, in order."""
        within = {commit for ends in self._ends_within for commit in ends}
        return tuple(sorted({self.good, self.bad} | within))

    def comparable_pairs(self, base: int, head: int) -> tuple[Pair, ...]:
        """Return the pairs of two commits that have the metric on both sides."""
        name = self.metric.name
        pairs = self.pairs.get((base, head), ())
        return tuple(pair for pair in pairs if name in pair.base and name in pair.head)

    def differences(self, base: int, head: int) -> tuple[float, ...]:
        """Return the difference of logs of each comparable pair of two commits."""
        return self._all_differences.get((base, head), ())

    @cached_property
    def _all_differences(self) -> dict[Ends, tuple[float, ...]]:
        return {
            ends: tuple(math.log(after / before) for before, after in test.pairs)
            for ends in self.pairs
            for test in tests_of(self.workload, self.comparable_pairs(*ends), (self.metric,))
            if test.metric.name == self.metric.name and not test.flaw
        }

    def verdict(self) -> Verdict | None:
        """Judge the present ends at the last planned look, as a check of this metric would.

        None before the first look.
        """
        pairs = self.comparable_pairs(self.good, self.bad)
        look = max((look for look in self.rule.looks if look <= len(pairs)), default=0)
        tests = tests_of(self.workload, pairs[:look], (self.metric,))
        chosen = [test for test in tests if test.metric.name == self.metric.name]
        return judge_tests(chosen, rule=self.rule)[0] if look and chosen else None

    @cached_property
    def size(self) -> float:
        """Return the whole change between the ends, as a difference of logs; 0 without pairs."""
        differences = self.differences(self.good, self.bad)
        return likely_center(differences, self.spread) if differences else 0.0

    @cached_property
    def spread(self) -> float:
        """Return the scale of a pair's difference, pooled over all comparisons."""
        return max(MIN_SPREAD, pooled_scale(tuple(self._all_differences.values())))

    @cached_property
    def chances(self) -> dict[int, float]:
        """Return for each commit of the present range the probability that it made the change."""
        size, spread = self.size, self.spread
        logs = dict.fromkeys(range(self.good + 1, self.bad + 1), 0.0)
        for base, head in self._ends_within:
            ratio = sum(
                log_density((each - size) / spread) - log_density(each / spread)
                for each in self.differences(base, head)
            )
            for commit in range(base + 1, head + 1):
                logs[commit] += ratio
        most = max(logs.values())
        weights = {commit: math.exp(log - most) for commit, log in logs.items()}
        total = sum(weights.values())
        return {commit: weight / total for commit, weight in weights.items()}

    @property
    def _ends_within(self) -> tuple[Ends, ...]:
        """Return the comparisons whose commits both lie in the present range."""
        return tuple(ends for ends in self.pairs if self.good <= ends[0] < ends[1] <= self.bad)


def next_step(search: CommitSearch) -> Comparison | SearchEnd | CommitSearch:
    """Return the pair to measure next, or the answer, or the search to continue with.

    The last is returned if a commit has a level of its own: there are two changes, and the larger
    one is searched for. A commit outside both levels is left out in the same way.
    """
    ends = (search.good, search.bad)
    verdict = search.verdict()
    outcome = verdict.outcome if verdict else Outcome.UNDECIDED
    if outcome in {Outcome.REGRESSED, Outcome.IMPROVED}:
        return _next_in_range(search)
    if outcome is Outcome.UNCHANGED and not search.other_changes:
        return replace(open_end(search), status=SearchStatus.UNCHANGED)
    if outcome is Outcome.UNDECIDED and not _is_exhausted(search, [ends]):
        return Comparison(*ends)
    return open_end(search)


def pairs_needed(search: CommitSearch) -> int:
    """Return about how many pairs of a commit show if it has the change, at most MAX_NEEDED.

    Each pair measured at one level adds evidence for it: the Kullback-Leibler divergence of the two
    levels.
    """
    distance = abs(search.size) / search.spread
    noise = [NormalDist().inv_cdf(index / PERCENTILES) for index in range(1, PERCENTILES)]
    gain = fmean(log_density(each) - log_density(each - distance) for each in noise)
    sure = math.log(SURE / (1 - SURE))
    return min(MAX_NEEDED, math.ceil(sure / gain)) if gain > sure / MAX_NEEDED else MAX_NEEDED


def open_end(search: CommitSearch) -> SearchEnd:
    """Return the answer of a search that is not sure of one commit: those that remain.

    They are the fewest neighbouring commits that made the change with probability SURE.
    """
    chances = search.chances
    bounds = search.measured_commits
    spans = [
        (bounds[first], bounds[last])
        for first in range(len(bounds))
        for last in range(first + 1, len(bounds))
    ]
    likely = [span for span in spans if _chance(chances, *span) >= SURE]
    base, head = min(likely, key=lambda span: (span[1] - span[0], -_chance(chances, *span)))
    return SearchEnd(
        status=SearchStatus.UNDECIDED,
        first=base + 1,
        last=head,
        chance=min(1.0, _chance(chances, base, head)),
    )


def unexplained_change(search: CommitSearch, commit: int) -> float | None:
    """Return the relative change between the ends that a commit did not make.

    None if the commit's pairs with its parent leave nothing unexplained, or if there are no such
    pairs.
    """
    own_differences = search.differences(commit - 1, commit)
    if not own_differences:
        return None
    rest = search.size - likely_center(own_differences, search.spread)
    pairs = len(search.differences(search.good, search.bad))
    error = search.spread * math.sqrt(1 / len(own_differences) + 1 / pairs)
    is_clear = abs(rest) - OWN_ERRORS * error > 0 and abs(rest) > OWN_SHARE * abs(search.size)
    return math.expm1(rest) if is_clear else None


def _next_in_range(search: CommitSearch) -> Comparison | SearchEnd | CommitSearch:
    """Return the next step for ends that differ."""
    for commit in search.measured_commits[1:-1]:
        if (part := _own_level(search, commit)) is not None:
            return part
    chances = search.chances
    base, head = max(
        pairwise(search.measured_commits), key=lambda ends: (_chance(chances, *ends), ends)
    )
    doubtful = _boundary_in_doubt(search, chances, base, head)
    if doubtful is not None:
        if _is_exhausted(search, _with_ends(search, doubtful)):
            return open_end(search)
        return Comparison(*min(_with_ends(search, doubtful), key=lambda e: _count(search, e)))
    if head - base == 1:
        return SearchEnd(status=SearchStatus.FOUND, first=head, last=head, chance=chances[head])
    middle = _middle(search, base, head)
    if middle is None:
        chance = _chance(chances, base, head)
        return SearchEnd(status=SearchStatus.NOT_MEASURED, first=base + 1, last=head, chance=chance)
    return Comparison(search.good, middle)


def _boundary_in_doubt(
    search: CommitSearch, chances: Mapping[int, float], base: int, head: int
) -> int | None:
    """Return the end of the likeliest interval that needs another pair; None if it is sure."""
    inner = [commit for commit in (base, head) if commit not in (search.good, search.bad)]
    for commit in inner:
        if min(_count(search, ends) for ends in _with_ends(search, commit)) == 0:
            return commit
    if not inner or _chance(chances, base, head) >= SURE:
        return None
    before = _chance(chances, search.good, base)
    after = _chance(chances, head, search.bad)
    return base if before > after else head


def _own_level(search: CommitSearch, commit: int) -> CommitSearch | None:
    """Return the search that follows from a commit at neither level; None without a sign of one.

    If its level is between the two, there are two changes, and the larger one is searched for. If
    it is outside, the commit measures something else, such as a step that does not work, and is
    left out.
    """
    ends = _with_ends(search, commit)
    if min(len(search.differences(*each)) for each in ends) < MIN_FOR_LEVEL:
        return None
    places = [_place(search, each) for each in ends]
    from_good, to_bad = (place for place, _ in places)
    errors = [OWN_ERRORS * error for _, error in places]
    if any(
        abs(place) - error <= OWN_SHARE
        for place, error in zip((from_good, to_bad), errors, strict=True)
    ):
        return None
    if from_good > 0 and to_bad > 0:
        (good, bad), rest = ends if from_good >= to_bad else reversed(ends)
        change = math.expm1(likely_center(search.differences(*rest), search.spread))
        other_changes = (*search.other_changes, OtherChange(*rest, change))
        return replace(search, good=good, bad=bad, other_changes=other_changes)
    return search.without(commit)


def _place(search: CommitSearch, ends: Ends) -> tuple[float, float]:
    """Return the change between two commits and its standard error, relative to the whole."""
    differences = search.differences(*ends)
    error = search.spread / math.sqrt(len(differences))
    center = likely_center(differences, search.spread)
    return center / search.size, error / abs(search.size)


def _middle(search: CommitSearch, base: int, head: int) -> int | None:
    """Return the commit that best divides an interval; None if none can be measured.

    Neighbours of a commit that does not build often do not build either: after each failure the
    next try is twice as far away if possible, as with `git bisect skip`.
    """
    skipped = [commit for commit in range(base + 1, head) if commit in search.skipped]
    usable = [commit for commit in range(base + 1, head) if commit not in search.skipped]
    centre = (base + head) // 2
    for halvings in reversed(range(len(skipped))):
        reach = 2**halvings
        far = [each for each in usable if min(abs(each - other) for other in skipped) >= reach]
        if far:
            return min(far, key=lambda commit: (abs(commit - centre), commit))
    return min(usable, key=lambda commit: (abs(commit - centre), commit), default=None)


def _with_ends(search: CommitSearch, commit: int) -> tuple[Ends, Ends]:
    return (search.good, commit), (commit, search.bad)


def _count(search: CommitSearch, ends: Ends) -> int:
    return len(search.pairs.get(ends, ()))


def _is_exhausted(search: CommitSearch, ends: Sequence[Ends]) -> bool:
    """Return whether the most pairs were compared, or twice as many were tried.

    Some metrics, such as CPU time, are not read in every process on a busy machine.
    """
    most = search.rule.most_pairs
    if most is None:
        return False
    compared_pairs = sum(len(search.comparable_pairs(*each)) for each in ends)
    tried_pairs = sum(_count(search, each) for each in ends)
    return compared_pairs >= most or tried_pairs >= MAX_TRIES * most


def _chance(chances: Mapping[int, float], base: int, head: int) -> float:
    """Return the probability that the change was made after `base`, up to `head`."""
    return math.fsum(chances[commit] for commit in range(base + 1, head + 1))

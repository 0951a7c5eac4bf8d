"""Searches whose truth is known: which commit they end with, and what they build for it."""

import math
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.stats import norm, t as student

from perfledger.metrics import PEAK_MEMORY, STEP_TIME
from perfledger_baselines.estimation.pairing import Pair
from perfledger_baselines.history.commits.search import (
    SURE,
    CommitSearch,
    Comparison,
    SearchEnd,
    SearchStatus,
    next_step,
    open_end,
    pairs_needed,
    unexplained_change,
)
from perfledger_baselines.significance.decision_rule import DecisionRule
from perfledger_baselines.significance.interim_looks import planned_looks
from tests.suite.tries import tries

RULE = DecisionRule(looks=planned_looks(20), alpha=0.05, margin=0.01, floor=0.003)


def a_search(commits, *, rule=RULE, metric=STEP_TIME):
    return CommitSearch(workload="m:f", metric=metric, rule=rule, good=0, bad=commits)


def a_pair(base, head, metric=STEP_TIME):
    return Pair({metric.name: base}, {metric.name: head})


class Truth:
    """The true level of every commit, and the noise of pairs of them."""

    def __init__(self, levels, *, noise=0.002, broken=(), seed=1):
        self.levels, self.noise, self.broken = levels, noise, frozenset(broken)
        self.random = Random(seed)
        self.built = set()
        self.pairs = 0

    @classmethod
    def with_change(cls, commits, first, size, **values):
        return cls([1.0 if at < first else 1.0 + size for at in range(commits + 1)], **values)

    def search(self, search):
        """Measure what the search asks for until its end."""
        while not isinstance(step := next_step(search), SearchEnd):
            search = step if isinstance(step, CommitSearch) else self.after(search, step)
        return step, search

    def after(self, search, step):
        broken = self.broken & {step.base, step.head}
        if broken:
            return search.without(*broken)
        self.built |= {step.base, step.head}
        self.pairs += 1
        noise = math.exp(self.noise * self.random.gauss())
        pair = a_pair(self.levels[step.base], self.levels[step.head] * noise)
        return search.with_pairs(step.base, step.head, [pair])


@pytest.mark.slow
@pytest.mark.parametrize("size", [0.05, -0.05, 0.5, -0.9, 3.0])
@pytest.mark.parametrize("commits", [1, 2, 7, 12])
def test_every_commit_is_found_with_as_few_builds_as_without_noise(commits, size):
    for first in range(1, commits + 1):
        truth = Truth.with_change(commits, first, size, seed=first)

        end, _ = truth.search(a_search(commits))

        assert (end.status, end.first, end.last) == (SearchStatus.FOUND, first, first)
        assert end.chance >= SURE
        assert len(truth.built) <= math.ceil(math.log2(commits)) + 2


@pytest.mark.slow(ci_only=True)
@settings(max_examples=tries(40), deadline=None)
@given(st.integers(1, 300), st.randoms(use_true_random=False), st.floats(0.0005, 0.04))
def test_doubt_costs_pairs_and_hardly_ever_a_build(commits, random, noise):
    first = random.randint(1, commits)
    truth = Truth.with_change(commits, first, 0.05, noise=noise, seed=random.randint(0, 99))

    end, _ = truth.search(a_search(commits))

    assert len(truth.built) <= math.ceil(math.log2(commits)) + 3
    assert 1 <= end.first <= end.last <= commits
    assert end.status is not SearchStatus.FOUND or end.chance >= SURE


@pytest.mark.slow(ci_only=True)
@pytest.mark.parametrize(("noise", "size", "least"), [(0.01, 0.05, 0.95), (0.02, 0.1, 0.95)])
def test_the_answer_is_right_as_often_as_it_says(noise, size, least):
    right, count = 0, tries(120)
    for seed in range(count):
        first = 1 + seed % 30
        truth = Truth.with_change(30, first, size, noise=noise, seed=seed)
        end, _ = truth.search(a_search(30))
        right += (end.status, end.first) == (SearchStatus.FOUND, first)

    assert right >= least * count


def test_ends_that_do_not_differ_end_the_search_before_any_other_build():
    truth = Truth([1.0] * 13)

    end, search = truth.search(a_search(12))

    assert (end.status, end.first, end.last) == (SearchStatus.UNCHANGED, 1, 12)
    assert truth.built == {0, 12}
    assert search.measured_commits == (0, 12)


def test_a_change_smaller_than_the_noise_leaves_all_commits_and_says_what_would_settle_it():
    truth = Truth.with_change(12, 5, 0.01, noise=0.05)

    end, search = truth.search(a_search(12))

    assert (end.status, end.first, end.last) == (SearchStatus.UNDECIDED, 1, 12)
    assert truth.pairs == 20
    assert pairs_needed(search) > 20


def test_pairs_that_mislead_are_outvoted_by_further_ones():
    search = a_search(4).with_pairs(0, 4, [a_pair(1.0, 1.1 * noise) for noise in (1, 1.01, 0.99)])
    search = search.with_pairs(0, 4, [a_pair(1.0, 1.1), a_pair(1.0, 1.101)])
    assert next_step(search) == Comparison(0, 2)
    wild = search.with_pairs(0, 2, [a_pair(1.0, 1.1)]).with_pairs(2, 4, [a_pair(1.0, 1.1)])

    truth = Truth.with_change(4, 3, 0.1, noise=0.01)
    end, _ = truth.search(wild)

    assert next_step(wild) in {Comparison(0, 2), Comparison(2, 4)}  # no build before it is clear
    assert (end.status, end.first) == (SearchStatus.FOUND, 3)


def test_a_check_of_the_found_commit_that_shows_no_change_takes_the_answer_back():
    truth = Truth.with_change(8, 3, 0.1, noise=0.01)
    end, search = truth.search(a_search(8))
    assert end.first == 3

    search = search.with_pairs(2, 3, [a_pair(1.0, 1.0 + each / 1000) for each in range(-9, 10)])

    assert search.chances[3] < 0.5
    assert not isinstance(next_step(search), SearchEnd) or next_step(search).first != 3


def test_a_commit_that_does_not_build_is_left_out():
    truth = Truth.with_change(12, 8, 0.1, broken=(6,))

    end, search = truth.search(a_search(12))

    assert (end.status, end.first) == (SearchStatus.FOUND, 8)
    assert search.skipped == {6}


def test_a_change_among_commits_that_do_not_build_is_a_range():
    truth = Truth.with_change(12, 6, 0.1, broken=(5, 6, 7))

    end, search = truth.search(a_search(12))

    assert (end.status, end.first, end.last) == (SearchStatus.NOT_MEASURED, 5, 8)
    assert {5, 6, 7} <= search.skipped


def test_after_commits_that_do_not_build_the_next_one_is_far_from_them():
    search = a_search(40)
    search = search.with_pairs(0, 40, [a_pair(1.0, 1.1 + each / 1000) for each in range(5)])
    tried = []
    for _ in range(5):
        step = next_step(search)
        tried.append(step.head)
        search = search.without(step.head)

    assert tried[0] == 20
    distances = [min(abs(tried[at] - other) for other in tried[:at]) for at in range(1, 5)]
    assert distances == [1, 2, 4, 8]


def two_changes(middle):
    """Return thirteen commits that change at the fifth and at the ninth."""
    return [1.0 if at < 5 else middle if at < 9 else 1.2 for at in range(13)]


def test_a_commit_between_the_levels_shows_two_changes_and_the_larger_one_is_found():
    end, search = Truth(two_changes(1.1)).search(a_search(12))

    assert (end.status, end.first) == (SearchStatus.FOUND, 5)
    (rest,) = search.other_changes
    assert (rest.base, rest.head) == (6, 12)
    assert rest.change == pytest.approx(1.2 / 1.1 - 1, abs=0.01)
    assert (search.good, search.bad) == (0, 6)


def test_what_the_found_commit_does_not_explain_is_told():
    truth = Truth(two_changes(1.05))
    end, search = truth.search(a_search(12))
    assert (end.status, end.first, search.other_changes) == (SearchStatus.FOUND, 9, ())

    assert unexplained_change(search, end.first) is None  # not measured by itself yet
    for _ in range(6):
        search = truth.after(search, Comparison(8, 9))

    assert unexplained_change(search, 9) == pytest.approx(0.05, abs=0.01)


def test_a_commit_that_explains_all_leaves_nothing():
    truth = Truth.with_change(12, 9, 0.2, noise=0.01)
    end, search = truth.search(a_search(12))
    for _ in range(6):
        search = truth.after(search, Comparison(8, 9))

    assert end.first == 9
    assert unexplained_change(search, 9) is None


@pytest.mark.parametrize("level", [0.2, 5.0])
def test_a_commit_far_outside_of_both_levels_is_left_out(level):
    truth = Truth.with_change(12, 4, 0.2)
    truth.levels[6] = level

    end, search = truth.search(a_search(12))

    assert (end.status, end.first) == (SearchStatus.FOUND, 4)
    assert search.skipped == {6}


def test_a_search_that_is_stopped_names_what_remains():
    truth = Truth.with_change(12, 4, 0.2)
    search = a_search(12)
    for _ in range(7):
        search = truth.after(search, next_step(search))

    end = open_end(search)

    assert (end.status, end.first, end.last) == (SearchStatus.UNDECIDED, 1, 6)


def test_a_metric_that_was_never_read_decides_nothing():
    search = a_search(4).with_pairs(0, 4, [a_pair(1.0, 2.0)] * 40)
    search = CommitSearch(
        workload="m:f", metric=PEAK_MEMORY, rule=RULE, good=0, bad=4, pairs=search.pairs
    )

    end = next_step(search)

    assert (end.status, end.first, end.last) == (SearchStatus.UNDECIDED, 1, 4)
    assert search.differences(0, 4) == ()


def test_counts_without_noise_are_searched_as_well():
    levels = [1e6 if at < 7 else 1.2e6 for at in range(13)]
    truth, search = Truth(levels, noise=0.0), a_search(12, metric=PEAK_MEMORY)
    while not isinstance(step := next_step(search), SearchEnd):
        truth.built |= {step.base, step.head}
        pair = a_pair(levels[step.base], levels[step.head], PEAK_MEMORY)
        search = search.with_pairs(step.base, step.head, [pair])

    assert (step.status, step.first) == (SearchStatus.FOUND, 7)


def test_a_pair_that_did_not_read_the_metric_is_measured_again():
    search = a_search(4)
    for number in range(5):
        assert next_step(search) == Comparison(0, 4)
        assert search.verdict() is None
        search = search.with_pairs(0, 4, [Pair({}, {STEP_TIME.name: 2.0})])
        search = search.with_pairs(0, 4, [a_pair(1.0, 2.0 + number / 100)])

    assert len(search.differences(0, 4)) == 5
    assert next_step(search) == Comparison(0, 2)


@pytest.mark.parametrize("size", [0.5, 1.0, 3.0])
def test_the_pairs_needed_are_those_of_the_divergence_of_the_two_levels(size):
    """log(SURE / (1 - SURE)) over the mean of the log ratio of t(4), of normal pairs."""
    search = a_search(4).with_pairs(
        0, 4, [a_pair(1.0, math.exp(size * 0.01 + each)) for each in (-0.01, 0.0, 0.01)]
    )
    distance = search.size / search.spread
    places = np.linspace(-8, 8, 20_001)

    def log_density(place):
        return student.logpdf(place, 4)

    ratios = log_density(places) - log_density(places - distance)
    gain = float((norm.pdf(places) * ratios).sum() * (places[1] - places[0]))

    assert pairs_needed(search) == pytest.approx(
        math.log(SURE / (1 - SURE)) / gain, rel=0.05, abs=1
    )

"""What holds whatever is suspected, in whatever order, and whatever the A/Bs say."""

import math
from dataclasses import replace

import msgspec
import pytest
from hypothesis import given, strategies as st

from perfledger.metrics import CPU_ACTIVE, PEAK_MEMORY, STEP_TIME
from perfledger_baselines.history.commits.attribution import CommitRange
from perfledger_baselines.history.commits.confirmation import record_ab_result
from perfledger_baselines.history.commits.confirmation_state import (
    Alert,
    ConfirmationLimits,
    ConfirmationState,
)
from perfledger_baselines.judging.verdict import Outcome

PAIRS_PER_WINDOW = 80


class Farm:
    """Answers every A/B by the truth: which commit moved which metric."""

    def __init__(self, ab, culprits):
        self.ab = ab
        self.culprits = culprits

    def measure(self, request):
        return [
            self.ab.verdict(
                Outcome.REGRESSED,
                self.ab.estimate(0.05 if metric.worse == "higher" else -0.05),
                metric=metric,
            )
            if request.base < culprit <= request.head
            else self.ab.verdict(Outcome.UNCHANGED, self.ab.estimate(0.0), metric=metric)
            for metric, culprit in self.culprits.items()
        ]


def settle(ab, farm, *candidates):
    """Ask and answer until nobody asks; return the alerts and the number of rounds."""
    alerts: list[Alert] = []
    rounds = 0
    state, requests = ab.request(ConfirmationState(), *candidates)
    while requests:
        rounds += 1
        for request in requests:
            state, said_alerts = record_ab_result(
                state, request, verdicts=farm.measure(request), pairs=4
            )
            alerts += said_alerts
        state, requests = ab.request(state, window=f"day {rounds}")
    return alerts, rounds


@pytest.mark.slow
@given(st.integers(0, 50), st.integers(1, 300), st.data())
def test_bisection_names_the_true_commit_in_the_binary_logarithm_of_requests(ab, good, count, data):
    culprit = data.draw(st.integers(good + 1, good + count))

    alerts, rounds = settle(ab, Farm(ab, {STEP_TIME: culprit}), ab.candidate(good, good + count))

    assert alerts[-1].commits == CommitRange(culprit, culprit)
    assert rounds <= 1 + math.ceil(math.log2(count))


@pytest.mark.slow
@given(
    st.dictionaries(
        st.sampled_from([STEP_TIME, PEAK_MEMORY, CPU_ACTIVE]), st.integers(11, 40), min_size=1
    )
)
def test_every_metric_gets_the_commit_that_moved_it(ab, culprits):
    candidates = [
        ab.candidate(10, 40, metric=metric, change=0.05 if metric.worse == "higher" else -0.05)
        for metric in culprits
    ]

    alerts, _ = settle(ab, Farm(ab, culprits), *candidates)

    commits = {
        change.candidate.series.metric: alert.commits.first
        for alert in alerts
        if alert.is_final
        for change in alert.changes
    }
    assert commits == culprits


@pytest.mark.slow
@given(st.integers(11, 40), st.sets(st.integers(11, 39)))
def test_the_true_commit_is_among_those_left_when_some_cannot_be_measured(ab, culprit, broken):
    class Broken(Farm):
        def measure(self, request):
            return [] if request.head in broken else super().measure(request)

    alerts, _ = settle(ab, Broken(ab, {STEP_TIME: culprit}), ab.candidate(10, 40))

    assert alerts[-1].is_final
    assert alerts[-1].commits.first <= culprit <= alerts[-1].commits.last
    assert set(range(alerts[-1].commits.first, alerts[-1].commits.last)) <= broken


candidates = st.lists(
    st.builds(
        lambda good, more, newer, **values: {
            "good": good,
            "bad": good + more,
            "newest": good + more + newer,
            **values,
        },
        st.integers(0, 30),
        st.integers(1, 6),
        st.integers(0, 4),
        workload=st.sampled_from(["m:f", "m:g", "n:f"]),
        metric=st.sampled_from([STEP_TIME, PEAK_MEMORY]),
        strength=st.sampled_from([2.0, 4.0, 8.0]),
        change=st.sampled_from([-0.05, 0.05]),
        pair_seconds=st.sampled_from([1.0, 10.0]),
    ),
    max_size=12,
)
outcomes = st.sampled_from(["regressed", "unchanged", "undecided", "", "improved"])


def built(ab, sample):
    return [ab.candidate(**one) for one in sample]


def said_of(ab, request, outcome):
    """Return what an A/B said of a request's workload; nothing for an outcome of ""."""
    return [replace(getattr(ab, outcome), workload=request.workload)] if outcome else []


@pytest.mark.slow
@given(candidates, st.randoms(use_true_random=False))
def test_the_order_of_suspects_does_not_matter(ab, sample, random):
    given_ab_candidates = built(ab, sample)
    shuffled = random.sample(given_ab_candidates, len(given_ab_candidates))

    assert ab.request(ConfirmationState(), *shuffled) == ab.request(
        ConfirmationState(), *given_ab_candidates
    )


@pytest.mark.slow
@given(candidates)
def test_the_same_suspects_are_never_asked_for_twice(ab, sample):
    given_ab_candidates = built(ab, sample)
    limits = ConfirmationLimits(max_pairs=8, pairs_per_window=8000)

    state, _ = ab.request(ConfirmationState(), *given_ab_candidates, limits=limits)

    assert ab.request(state, *given_ab_candidates, limits=limits) == (state, ())


@pytest.mark.slow
@given(st.lists(st.tuples(candidates, outcomes), max_size=6), st.data())
def test_no_window_promises_more_pairs_than_it_has_and_no_commit_is_asked_for_twice_at_once(
    ab, days, data
):
    state = ConfirmationState()
    for day, (today, said_day) in enumerate(days):
        state, requests = ab.request(state, *built(ab, today), window=f"day {day // 2}")
        assert state.pairs <= PAIRS_PER_WINDOW
        holders = (*state.pending_confirmations, *state.bisections)
        under_way = {holder.request for holder in holders if holder.request is not None}
        questions = [(r.workload, r.base, r.head) for r in under_way]
        assert len(set(questions)) == len(questions)
        for request in requests:
            if data.draw(st.booleans()):
                mine = said_of(ab, request, said_day)
                state, _ = ab.answer(state, *mine, request=request)


@pytest.mark.slow
@given(st.lists(st.tuples(candidates, outcomes), max_size=4))
def test_a_state_that_was_stored_goes_on_as_if_it_had_not_been(ab, days):
    kept_confirmation_state = stored = ConfirmationState()
    for today, text in days:
        stored = msgspec.json.decode(msgspec.json.encode(stored), type=ConfirmationState)
        kept_confirmation_state, requests = ab.request(kept_confirmation_state, *built(ab, today))
        stored, same = ab.request(stored, *built(ab, today))
        assert same == requests
        for request in requests:
            mine = said_of(ab, request, text)
            kept_confirmation_state, alerts = ab.answer(
                kept_confirmation_state, *mine, request=request
            )
            stored, repeated = ab.answer(stored, *mine, request=request)
            assert repeated == alerts

    assert stored == kept_confirmation_state


@pytest.mark.slow
@given(st.floats(1.0, 100.0), st.floats(1.0, 100.0))
def test_a_stronger_candidate_is_never_asked_for_later(ab, one, other):
    stronger, weaker = max(one, other), min(one, other)

    _, requests = ab.request(
        ConfirmationState(),
        ab.candidate(99, 100, workload="b", strength=stronger),
        ab.candidate(99, 100, workload="a", strength=weaker),
    )

    priorities = {request.workload: request.priority for request in requests}
    assert priorities["b"] >= priorities["a"]

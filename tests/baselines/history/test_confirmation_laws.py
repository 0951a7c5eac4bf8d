"""What holds whatever is suspected, in whatever order, and whatever the A/Bs say."""

import math
from dataclasses import replace

import msgspec
import pytest
from hypothesis import given, strategies as st

from perfledger.metrics import CPU_ACTIVE, PEAK_MEMORY, STEP_TIME
from perfledger_baselines.history.attribution import CommitRange
from perfledger_baselines.history.confirmation import answer
from perfledger_baselines.history.docket import Alert, Docket, Limits
from perfledger_baselines.verdict import Outcome

PAIRS_PER_WINDOW = 80


class Farm:
    """Answers every A/B by the truth: which commit moved which metric."""

    def __init__(self, court, culprits):
        self.court = court
        self.culprits = culprits

    def measure(self, request):
        return [
            self.court.verdict(
                Outcome.REGRESSED,
                self.court.estimate(0.05 if metric.worse == "higher" else -0.05),
                metric=metric,
            )
            if request.base < culprit <= request.head
            else self.court.verdict(Outcome.UNCHANGED, self.court.estimate(0.0), metric=metric)
            for metric, culprit in self.culprits.items()
        ]


def settle(court, farm, *suspicions):
    """Ask and answer until nobody asks; return the alerts and the number of rounds."""
    alerts: list[Alert] = []
    rounds = 0
    docket, requests = court.begin(Docket(), *suspicions)
    while requests:
        rounds += 1
        for request in requests:
            docket, said = answer(docket, request, verdicts=farm.measure(request), pairs=4)
            alerts += said
        docket, requests = court.begin(docket, window=f"day {rounds}")
    return alerts, rounds


@pytest.mark.slow
@given(st.integers(0, 50), st.integers(1, 300), st.data())
def test_bisection_names_the_true_commit_in_the_binary_logarithm_of_requests(
    court, good, count, data
):
    culprit = data.draw(st.integers(good + 1, good + count))

    alerts, rounds = settle(
        court, Farm(court, {STEP_TIME: culprit}), court.suspicion(good, good + count)
    )

    assert alerts[-1].commits == CommitRange(culprit, culprit)
    assert rounds <= 1 + math.ceil(math.log2(count))


@pytest.mark.slow
@given(
    st.dictionaries(
        st.sampled_from([STEP_TIME, PEAK_MEMORY, CPU_ACTIVE]), st.integers(11, 40), min_size=1
    )
)
def test_every_metric_gets_the_commit_that_moved_it(court, culprits):
    suspicions = [
        court.suspicion(10, 40, metric=metric, change=0.05 if metric.worse == "higher" else -0.05)
        for metric in culprits
    ]

    alerts, _ = settle(court, Farm(court, culprits), *suspicions)

    found = {
        change.suspicion.series.metric: alert.commits.first
        for alert in alerts
        if alert.is_final
        for change in alert.changes
    }
    assert found == culprits


@pytest.mark.slow
@given(st.integers(11, 40), st.sets(st.integers(11, 39)))
def test_the_true_commit_is_among_those_left_when_some_cannot_be_measured(court, culprit, broken):
    class Broken(Farm):
        def measure(self, request):
            return [] if request.head in broken else super().measure(request)

    alerts, _ = settle(court, Broken(court, {STEP_TIME: culprit}), court.suspicion(10, 40))

    assert alerts[-1].is_final
    assert alerts[-1].commits.first <= culprit <= alerts[-1].commits.last
    assert set(range(alerts[-1].commits.first, alerts[-1].commits.last)) <= broken


suspicions = st.lists(
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


def built(court, drawn):
    return [court.suspicion(**one) for one in drawn]


def said_of(court, request, outcome):
    """Return what an A/B said of a request's workload; nothing for an outcome of ""."""
    return [replace(getattr(court, outcome), workload=request.workload)] if outcome else []


@pytest.mark.slow
@given(suspicions, st.randoms(use_true_random=False))
def test_the_order_of_suspicions_does_not_matter(court, drawn, random):
    given_ = built(court, drawn)
    shuffled = random.sample(given_, len(given_))

    assert court.begin(Docket(), *shuffled) == court.begin(Docket(), *given_)


@pytest.mark.slow
@given(suspicions)
def test_the_same_suspicions_are_never_asked_for_twice(court, drawn):
    given_ = built(court, drawn)
    limits = Limits(max_pairs=8, pairs_per_window=8000)

    docket, _ = court.begin(Docket(), *given_, limits=limits)

    assert court.begin(docket, *given_, limits=limits) == (docket, ())


@pytest.mark.slow
@given(st.lists(st.tuples(suspicions, outcomes), max_size=6), st.data())
def test_no_window_promises_more_pairs_than_it_has_and_no_commit_is_asked_for_twice_at_once(
    court, days, data
):
    docket = Docket()
    for day, (today, said) in enumerate(days):
        docket, requests = court.begin(docket, *built(court, today), window=f"day {day // 2}")
        assert docket.pairs <= PAIRS_PER_WINDOW
        holders = (*docket.trials, *docket.searches)
        under_way = {holder.request for holder in holders if holder.request is not None}
        questions = [(r.workload, r.base, r.head) for r in under_way]
        assert len(set(questions)) == len(questions)
        for request in requests:
            if data.draw(st.booleans()):
                mine = said_of(court, request, said)
                docket, _ = court.tried(docket, *mine, request=request)


@pytest.mark.slow
@given(st.lists(st.tuples(suspicions, outcomes), max_size=4))
def test_a_docket_that_was_stored_goes_on_as_if_it_had_not_been(court, days):
    kept = stored = Docket()
    for today, said in days:
        stored = msgspec.json.decode(msgspec.json.encode(stored), type=Docket)
        kept, requests = court.begin(kept, *built(court, today))
        stored, same = court.begin(stored, *built(court, today))
        assert same == requests
        for request in requests:
            mine = said_of(court, request, said)
            kept, alerts = court.tried(kept, *mine, request=request)
            stored, repeated = court.tried(stored, *mine, request=request)
            assert repeated == alerts

    assert stored == kept


@pytest.mark.slow
@given(st.floats(1.0, 100.0), st.floats(1.0, 100.0))
def test_a_stronger_suspicion_is_never_asked_for_later(court, one, other):
    stronger, weaker = max(one, other), min(one, other)

    _, requests = court.begin(
        Docket(),
        court.suspicion(99, 100, workload="b", strength=stronger),
        court.suspicion(99, 100, workload="a", strength=weaker),
    )

    priorities = {request.workload: request.priority for request in requests}
    assert priorities["b"] >= priorities["a"]

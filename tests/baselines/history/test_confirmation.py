import math
from dataclasses import replace

import msgspec
import pytest
from hypothesis import given, strategies as st

from perfledger.metrics import CPU_ACTIVE, METRICS, PEAK_MEMORY, STEP_TIME
from perfledger_baselines.history.attribution import CommitRange, Series
from perfledger_baselines.history.bisection import MOST_TRIES
from perfledger_baselines.history.confirmation import STRONGER_BY, answer, ask, forget
from perfledger_baselines.history.docket import (
    Alert,
    ConfirmationError,
    Docket,
    Limits,
    Narrowing,
    Purpose,
    Suspicion,
)
from perfledger_baselines.history.findings import Suspect
from perfledger_baselines.verdict import Estimate, Outcome, Verdict

LIMITS = Limits(max_pairs=8, pairs_per_window=80)
MACHINE = "cuda:H100:1"


def suspicion(good, bad, *, workload="m:f", metric=STEP_TIME, newest=None, strength=5.0, **values):
    return Suspicion(
        **{
            "series": Series(workload, metric, MACHINE),
            "good": good,
            "bad": bad,
            "newest": bad if newest is None else newest,
            "change": 0.05,
            "strength": strength,
            "pair_seconds": 10.0,
            **values,
        }
    )


def begin(docket, *suspicions, window="Monday", limits=LIMITS):
    return ask(docket, suspicions, window=window, limits=limits)


def estimate(change, low=None, high=None):
    low = change - 0.004 if low is None else low
    high = change + 0.004 if high is None else high
    return Estimate(
        base=1.0,
        head=1.0 + change,
        change=change,
        low=low,
        high=high,
        narrow_low=low,
        narrow_high=high,
        pairs=4,
        p_value=0.001,
        smallest_detectable=0.01,
    )


def verdict(outcome, measured=None, *, metric=STEP_TIME, workload="m:f"):
    return Verdict(
        workload=workload,
        metric=metric,
        outcome=outcome,
        estimate=measured,
        adjusted_p=0.01,
        is_warning=False,
        reason="",
    )


REGRESSED = verdict(Outcome.REGRESSED, estimate(0.05))
UNCHANGED = verdict(Outcome.UNCHANGED, estimate(0.0))
UNDECIDED = verdict(Outcome.UNDECIDED, estimate(0.024, -0.03, 0.08))
NOT_MEASURED = verdict(Outcome.NOT_MEASURED)


def tried(docket, *verdicts, request=None, pairs=4):
    """Answer the one request that is under way, or the given one."""
    if request is None:
        requests = [t.request for t in docket.trials] + [s.request for s in docket.searches]
        (request,) = set(requests)
    return answer(docket, request, verdicts=verdicts, pairs=pairs)


def convicted(*suspicions):
    """Return a docket after an A/B that bore the suspicions out, and its alert."""
    docket, _ = begin(Docket(), *suspicions)
    verdicts = [
        verdict(Outcome.REGRESSED, estimate(0.05), metric=one.series.metric) for one in suspicions
    ]
    docket, (alert,) = tried(docket, *verdicts)
    return docket, alert


def test_a_suspicion_leads_to_an_ab_of_its_commit_and_the_last_good_one():
    _, (request,) = begin(Docket(), suspicion(99, 100))

    assert (request.workload, request.machine_class) == ("m:f", MACHINE)
    assert (request.base, request.head, request.max_pairs) == (99, 100, 8)
    assert request.purpose is Purpose.CONFIRM


@pytest.mark.parametrize(
    ("index", "good"),
    [(8, 3), (6, 2), (3, 1), (1, 1)],
    ids=["one odd point", "two", "three", "all"],
)
def test_the_newest_commit_is_tried_against_one_that_is_certainly_good(index, good):
    odd = Suspect(index=index, observations=1, change=0.05, strength=4.0)

    found = Suspicion.from_suspect(
        odd, series=Series("m:f", STEP_TIME, MACHINE), commits=[1, 2, 3, 6, 8], pair_seconds=10.0
    )

    assert (found.good, found.bad, found.newest) == (good, 8, 8)
    assert (found.change, found.strength) == (0.05, 4.0)


def test_what_the_ab_bears_out_is_an_alert_with_its_commit():
    docket, _ = begin(Docket(), suspicion(99, 100))

    docket, (alert,) = tried(docket, REGRESSED)

    assert alert.commits == alert.suspected == CommitRange(100, 100)
    assert (alert.narrowing, alert.is_final, alert.pairs) == (Narrowing.ONE_COMMIT, True, 4)
    assert alert.changes[0].estimate.change == 0.05
    assert not docket.searches


@pytest.mark.parametrize(
    "said",
    [
        [UNCHANGED],
        [UNDECIDED],
        [NOT_MEASURED],
        [],
        [verdict(Outcome.IMPROVED, estimate(-0.05))],
        [replace(REGRESSED, workload="m:other")],
        [replace(REGRESSED, metric=PEAK_MEMORY)],
    ],
    ids=["unchanged", "undecided", "not measured", "nothing", "opposite", "workload", "metric"],
)
def test_what_the_ab_does_not_bear_out_is_silent(said):
    docket, _ = begin(Docket(), suspicion(99, 100))

    docket, alerts = tried(docket, *said)

    assert (alerts, docket.trials, docket.searches) == ((), (), ())


def test_a_gain_is_confirmed_by_an_improvement():
    docket, _ = begin(Docket(), suspicion(99, 100, change=-0.05))

    _, (alert,) = tried(docket, verdict(Outcome.IMPROVED, estimate(-0.05)))

    assert alert.changes[0].suspicion.harm == "better"


def test_one_request_covers_all_metrics_of_a_workload():
    _, requests = begin(
        Docket(), suspicion(99, 100), suspicion(97, 100, metric=PEAK_MEMORY), suspicion(99, 100)
    )

    assert [(request.base, request.head) for request in requests] == [(97, 100)]


def test_only_the_metrics_that_the_ab_bears_out_are_in_the_alert():
    docket, _ = begin(Docket(), suspicion(99, 100), suspicion(99, 100, metric=PEAK_MEMORY))

    _, (alert,) = tried(docket, REGRESSED, replace(UNCHANGED, metric=PEAK_MEMORY))

    assert [change.suspicion.series.metric for change in alert.changes] == [STEP_TIME]


def test_a_metric_that_becomes_suspect_while_the_ab_runs_joins_it():
    docket, _ = begin(Docket(), suspicion(99, 100))

    docket, requests = begin(docket, suspicion(99, 100), suspicion(99, 100, metric=PEAK_MEMORY))
    _, (alert,) = tried(docket, REGRESSED, replace(REGRESSED, metric=PEAK_MEMORY))

    assert requests == ()
    assert len(alert.changes) == 2


def test_of_two_suspicions_of_the_same_commits_the_stronger_is_asked_for():
    _, requests = begin(
        Docket(), suspicion(97, 100, strength=4.0), suspicion(98, 101, strength=6.0)
    )

    assert [(request.base, request.head) for request in requests] == [(98, 101)]


def test_workloads_commits_and_machine_classes_are_asked_for_apart():
    elsewhere = Series("m:f", STEP_TIME, "tpu:v4:8")

    _, requests = begin(
        Docket(),
        suspicion(99, 100),
        suspicion(109, 110),
        suspicion(99, 100, workload="m:g"),
        suspicion(99, 100, series=elsewhere),
    )

    assert len(requests) == 4


@pytest.mark.parametrize(
    "values",
    [
        {"good": 100},
        {"good": -1},
        {"newest": 99},
        {"change": 0.0},
        {"change": math.nan},
        {"strength": math.inf},
        {"pair_seconds": 0.0},
    ],
)
def test_a_suspicion_that_makes_no_sense_is_refused(values):
    with pytest.raises(ConfirmationError, match="is no suspicion"):
        replace(suspicion(99, 100), **values)


def test_an_answer_that_nobody_waits_for_is_refused():
    docket, (request,) = begin(Docket(), suspicion(99, 100))
    docket, _ = tried(docket, UNCHANGED)

    with pytest.raises(ConfirmationError, match="no answer that is waited for"):
        answer(docket, request, verdicts=[REGRESSED], pairs=4)


def test_less_than_no_pairs_is_refused():
    docket, _ = begin(Docket(), suspicion(99, 100))

    with pytest.raises(ConfirmationError, match="-1 pairs"):
        tried(docket, pairs=-1)


def test_what_is_under_way_is_not_asked_for_again():
    docket, _ = begin(Docket(), suspicion(99, 100))

    _, requests = begin(docket, suspicion(98, 101, newest=102, strength=50.0))

    assert requests == ()


@pytest.mark.parametrize(
    ("newest", "strength", "is_asked"),
    [
        (100, 50.0, False),
        (101, 5.0 * STRONGER_BY - 0.1, False),
        (101, 5.0 * STRONGER_BY, True),
    ],
    ids=["no newer point", "hardly stronger", "newer and stronger"],
)
def test_a_cleared_suspicion_is_asked_for_again_when_newer_points_make_it_stronger(
    newest, strength, is_asked
):
    docket, _ = begin(Docket(), suspicion(99, 100))
    docket, _ = tried(docket, UNCHANGED)

    _, requests = begin(docket, suspicion(99, 100, newest=newest, strength=strength))

    assert bool(requests) is is_asked


@pytest.mark.parametrize(("newest", "is_asked"), [(100, False), (101, True)])
def test_what_could_not_be_measured_is_asked_for_again_at_the_next_point(newest, is_asked):
    docket, _ = begin(Docket(), suspicion(99, 100))
    docket, _ = tried(docket, pairs=0)

    _, requests = begin(docket, suspicion(99, 100, newest=newest))

    assert bool(requests) is is_asked


def test_other_commits_and_the_opposite_direction_are_other_questions():
    docket, _ = begin(Docket(), suspicion(99, 100))
    docket, _ = tried(docket, UNCHANGED)

    _, requests = begin(docket, suspicion(100, 101), suspicion(99, 100, change=-0.05))

    assert len(requests) == 2


def test_an_alert_is_never_asked_for_again():
    docket, _ = convicted(suspicion(99, 100))

    _, requests = begin(docket, suspicion(95, 105, newest=200, strength=1000.0))

    assert requests == ()


def test_what_was_settled_long_ago_can_be_forgotten():
    docket, _ = begin(Docket(), suspicion(99, 100), suspicion(109, 110))
    for request in [trial.request for trial in docket.trials]:
        docket, _ = tried(docket, UNCHANGED, request=request)

    kept = forget(docket, before=101).settled

    assert [settled.commits for settled in kept] == [CommitRange(110, 110)]


def test_a_window_has_no_more_pairs_than_it_may():
    suspicions = [suspicion(99, 100, workload=f"m:f{n}") for n in range(20)]

    docket, requests = begin(Docket(), *suspicions)

    assert (len(requests), docket.pairs) == (10, 80)
    assert begin(docket, *suspicions)[1] == ()


def test_pairs_that_were_not_needed_go_back():
    limits = Limits(max_pairs=8, pairs_per_window=12)
    docket, _ = begin(Docket(), suspicion(99, 100), limits=limits)
    docket, _ = tried(docket, UNCHANGED, pairs=4)

    _, requests = begin(docket, suspicion(109, 110), limits=limits)

    assert (docket.pairs, len(requests)) == (4, 1)


def test_another_window_has_pairs_of_its_own():
    suspicions = [suspicion(99, 100, workload=f"m:f{n}") for n in range(20)]
    docket, first = begin(Docket(), *suspicions)

    docket, second = begin(docket, *suspicions, window="Tuesday")
    docket, _ = tried(docket, request=first[0], pairs=2)

    assert len({(request.workload) for request in (*first, *second)}) == 20
    assert docket.pairs == 80


def test_an_ab_that_took_more_than_it_was_given_leaves_nothing():
    limits = Limits(max_pairs=8, pairs_per_window=8)
    docket, _ = begin(Docket(), suspicion(99, 100), limits=limits)
    docket, _ = tried(docket, UNCHANGED, pairs=30)

    assert begin(docket, suspicion(109, 110), limits=limits)[1] == ()


def test_strength_per_second_comes_first():
    _, requests = begin(
        Docket(),
        suspicion(99, 100, workload="slow", strength=9.0, pair_seconds=100.0),
        suspicion(99, 100, workload="weak", strength=1.0),
        suspicion(99, 100, workload="strong", strength=5.0),
    )

    assert [request.workload for request in requests] == ["strong", "weak", "slow"]


def test_a_workload_that_cries_wolf_waits_behind_the_others():
    docket = Docket()
    for commit in (10, 20, 30):
        docket, _ = begin(docket, suspicion(commit - 1, commit, workload="wolf"))
        docket, _ = tried(docket, pairs=0)

    _, requests = begin(
        docket, suspicion(99, 100, workload="wolf", strength=9.0), suspicion(99, 100, strength=5.0)
    )

    assert [request.workload for request in requests] == ["m:f", "wolf"]


def test_the_commit_of_a_known_change_comes_before_new_suspicions():
    docket, _ = convicted(suspicion(90, 100, strength=1.0))

    _, requests = begin(docket, suspicion(99, 100, workload="m:g", strength=50.0))

    assert [request.purpose for request in requests] == [Purpose.BISECT, Purpose.CONFIRM]


@pytest.mark.parametrize(("most", "window"), [(0, 10), (11, 10)])
def test_a_limit_without_a_single_ab_is_refused(most, window):
    with pytest.raises(ConfirmationError, match="allow at least one"):
        Limits(max_pairs=most, pairs_per_window=window)


def test_skipped_commits_are_halved_while_the_alert_is_out():
    docket, alert = convicted(suspicion(90, 100))

    _, (request,) = begin(docket)

    assert (alert.commits, alert.is_final) == (CommitRange(91, 100), False)
    assert (request.base, request.head, request.purpose) == (90, 95, Purpose.BISECT)


@pytest.mark.parametrize(
    ("said", "commits"),
    [
        (REGRESSED, CommitRange(91, 95)),
        (UNCHANGED, CommitRange(96, 100)),
        (verdict(Outcome.UNDECIDED, estimate(0.005, -0.005, 0.015)), CommitRange(96, 100)),
        (verdict(Outcome.UNDECIDED, estimate(0.045, 0.035, 0.055)), CommitRange(91, 95)),
        (verdict(Outcome.IMPROVED, estimate(-0.05)), CommitRange(96, 100)),
    ],
    ids=["changed", "unchanged", "almost none", "almost all", "opposite"],
)
def test_an_ab_in_the_middle_says_which_half(said, commits):
    docket, _ = convicted(suspicion(90, 100))
    docket, _ = begin(docket)

    _, (alert,) = tried(docket, said)

    assert (alert.commits, alert.suspected, alert.pairs) == (commits, CommitRange(91, 100), 8)


def test_half_of_a_gain_is_looked_at_from_the_other_side():
    docket, _ = begin(Docket(), suspicion(90, 100, change=-0.05))
    docket, _ = tried(docket, verdict(Outcome.IMPROVED, estimate(-0.05)))
    docket, _ = begin(docket)

    _, (alert,) = tried(docket, verdict(Outcome.UNDECIDED, estimate(-0.005, -0.015, 0.005)))

    assert alert.commits == CommitRange(96, 100)


def tried_again_and_again(said, times):
    """Return the docket and the last alert after so many A/Bs of the middle."""
    docket, alert = convicted(suspicion(90, 100))
    for _ in range(times):
        docket, _ = begin(docket)
        docket, (alert,) = tried(docket, said)
    return docket, alert


def test_a_middle_that_cannot_be_told_is_measured_again():
    docket, alert = tried_again_and_again(UNDECIDED, times=1)

    _, (request,) = begin(docket)

    assert (request.base, request.head, alert.is_final) == (90, 95, False)


def test_abs_of_one_middle_tell_together_what_none_tells_alone():
    hint = verdict(Outcome.UNDECIDED, estimate(0.01, -0.005, 0.025))

    _, once = tried_again_and_again(hint, times=1)
    _, twice = tried_again_and_again(hint, times=2)

    assert (once.commits, twice.commits) == (CommitRange(91, 100), CommitRange(96, 100))


def test_half_of_the_change_is_the_first_of_two_commits_when_it_stays_half():
    half = verdict(Outcome.REGRESSED, estimate(0.024, 0.02, 0.028))

    _, doubtful = tried_again_and_again(half, times=2)
    _, found = tried_again_and_again(half, times=MOST_TRIES)

    assert (doubtful.commits, found.commits) == (CommitRange(91, 100), CommitRange(91, 95))


@pytest.mark.parametrize("said", [UNDECIDED, verdict(Outcome.UNDECIDED)])
def test_a_middle_that_can_never_be_told_ends_the_search_with_what_is_left(said):
    docket, alert = tried_again_and_again(said, times=MOST_TRIES)

    assert (alert.narrowing, alert.commits) == (Narrowing.UNDECIDED, CommitRange(91, 100))
    assert begin(docket)[1] == ()


def test_a_commit_that_cannot_be_measured_is_gone_around():
    docket, _ = convicted(suspicion(90, 100))
    docket, _ = begin(docket)
    docket, _ = tried(docket, NOT_MEASURED)

    _, (request,) = begin(docket)

    assert request.head == 94


def test_commits_none_of_which_can_be_measured_stay_together():
    docket, _ = convicted(suspicion(97, 100))
    docket, _ = begin(docket)
    docket, _ = tried(docket)
    docket, _ = begin(docket)

    _, (alert,) = tried(docket)

    assert (alert.narrowing, alert.commits) == (Narrowing.NOT_MEASURED, CommitRange(98, 100))


def test_metrics_that_moved_at_different_commits_part():
    docket, _ = convicted(suspicion(90, 100), suspicion(90, 100, metric=PEAK_MEMORY))
    docket, _ = begin(docket)

    docket, alerts = tried(docket, REGRESSED, replace(UNCHANGED, metric=PEAK_MEMORY))

    found = {alert.changes[0].suspicion.series.metric.name: alert.commits for alert in alerts}
    assert found == {"peak_memory": CommitRange(96, 100), "step_time_p50": CommitRange(91, 95)}
    assert len(begin(docket)[1]) == 2


def test_a_commit_that_two_searches_want_is_measured_once():
    docket, _ = convicted(suspicion(90, 100))
    docket, _ = begin(docket, suspicion(90, 100, metric=PEAK_MEMORY))
    trial = docket.trials[0].request
    docket, _ = tried(docket, NOT_MEASURED, request=docket.searches[0].request)
    docket, _ = tried(docket, replace(REGRESSED, metric=PEAK_MEMORY), request=trial)
    docket, _ = begin(docket)
    docket, _ = tried(
        docket,
        replace(NOT_MEASURED, metric=PEAK_MEMORY),
        request=next(s.request for s in docket.searches if s.request.head == 95),
    )

    docket, requests = begin(docket)

    assert requests == ()
    assert len({search.request for search in docket.searches}) == 1


def test_a_suspicion_whose_commit_is_being_searched_is_not_asked_for():
    docket, _ = convicted(suspicion(90, 100))

    _, requests = begin(docket, suspicion(95, 100, newest=105, strength=90.0))

    assert [request.purpose for request in requests] == [Purpose.BISECT]


class Farm:
    """Answers every A/B by the truth: which commit moved which metric."""

    def __init__(self, culprits):
        self.culprits = culprits

    def measure(self, request):
        return [
            verdict(
                Outcome.REGRESSED,
                estimate(0.05 if metric.worse == "higher" else -0.05),
                metric=metric,
            )
            if request.base < culprit <= request.head
            else verdict(Outcome.UNCHANGED, estimate(0.0), metric=metric)
            for metric, culprit in self.culprits.items()
        ]


def settle(docket, farm, *suspicions):
    """Ask and answer until nobody asks; return the alerts and the number of rounds."""
    alerts: list[Alert] = []
    rounds = 0
    docket, requests = begin(docket, *suspicions)
    while requests:
        rounds += 1
        for request in requests:
            docket, said = answer(docket, request, verdicts=farm.measure(request), pairs=4)
            alerts += said
        docket, requests = begin(docket, window=f"day {rounds}")
    return docket, alerts, rounds


@pytest.mark.slow
@given(st.integers(0, 50), st.integers(1, 300), st.data())
def test_bisection_names_the_true_commit_in_the_binary_logarithm_of_requests(good, count, data):
    culprit = data.draw(st.integers(good + 1, good + count))

    _, alerts, rounds = settle(Docket(), Farm({STEP_TIME: culprit}), suspicion(good, good + count))

    assert alerts[-1].commits == CommitRange(culprit, culprit)
    assert rounds <= 1 + math.ceil(math.log2(count))


@pytest.mark.slow
@given(
    st.dictionaries(
        st.sampled_from([STEP_TIME, PEAK_MEMORY, CPU_ACTIVE]), st.integers(11, 40), min_size=1
    )
)
def test_every_metric_gets_the_commit_that_moved_it(culprits):
    suspicions = [
        suspicion(10, 40, metric=metric, change=0.05 if metric.worse == "higher" else -0.05)
        for metric in culprits
    ]

    _, alerts, _ = settle(Docket(), Farm(culprits), *suspicions)

    found = {
        change.suspicion.series.metric: alert.commits.first
        for alert in alerts
        if alert.is_final
        for change in alert.changes
    }
    assert found == culprits


@pytest.mark.slow
@given(st.integers(11, 40), st.sets(st.integers(11, 39)))
def test_the_true_commit_is_among_those_left_when_some_cannot_be_measured(culprit, broken):
    class Broken(Farm):
        def measure(self, request):
            return [] if request.head in broken else super().measure(request)

    _, alerts, _ = settle(Docket(), Broken({STEP_TIME: culprit}), suspicion(10, 40))

    assert alerts[-1].is_final
    assert alerts[-1].commits.first <= culprit <= alerts[-1].commits.last
    assert set(range(alerts[-1].commits.first, alerts[-1].commits.last)) <= broken


suspicions = st.lists(
    st.builds(
        lambda good, more, newer, **values: suspicion(
            good, good + more, newest=good + more + newer, **values
        ),
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
outcomes = st.sampled_from(
    [[REGRESSED], [UNCHANGED], [UNDECIDED], [], [verdict(Outcome.IMPROVED, estimate(-0.05))]]
)


@pytest.mark.slow
@given(suspicions, st.randoms(use_true_random=False))
def test_the_order_of_suspicions_does_not_matter(given_, random):
    shuffled = random.sample(given_, len(given_))

    assert begin(Docket(), *shuffled) == begin(Docket(), *given_)


@pytest.mark.slow
@given(suspicions)
def test_the_same_suspicions_are_never_asked_for_twice(given_):
    limits = Limits(max_pairs=8, pairs_per_window=8000)

    docket, _ = begin(Docket(), *given_, limits=limits)

    assert begin(docket, *given_, limits=limits) == (docket, ())


@pytest.mark.slow
@given(st.lists(st.tuples(suspicions, outcomes), max_size=6), st.data())
def test_no_window_promises_more_pairs_than_it_has_and_no_commit_is_asked_for_twice_at_once(
    days, data
):
    docket = Docket()
    for day, (today, said) in enumerate(days):
        docket, requests = begin(docket, *today, window=f"day {day // 2}")
        assert docket.pairs <= LIMITS.pairs_per_window
        holders = (*docket.trials, *docket.searches)
        under_way = {holder.request for holder in holders if holder.request is not None}
        questions = [(r.workload, r.base, r.head) for r in under_way]
        assert len(set(questions)) == len(questions)
        for request in requests:
            if data.draw(st.booleans()):
                mine = [replace(one, workload=request.workload) for one in said]
                docket, _ = tried(docket, *mine, request=request)


@pytest.mark.slow
@given(st.lists(st.tuples(suspicions, outcomes), max_size=4))
def test_a_docket_that_was_stored_goes_on_as_if_it_had_not_been(days):
    kept = stored = Docket()
    for today, said in days:
        stored = msgspec.json.decode(msgspec.json.encode(stored), type=Docket)
        kept, requests = begin(kept, *today)
        stored, same = begin(stored, *today)
        assert same == requests
        for request in requests:
            mine = [replace(one, workload=request.workload) for one in said]
            kept, alerts = tried(kept, *mine, request=request)
            stored, repeated = tried(stored, *mine, request=request)
            assert repeated == alerts

    assert stored == kept


@pytest.mark.slow
@given(st.floats(1.0, 100.0), st.floats(1.0, 100.0))
def test_a_stronger_suspicion_is_never_asked_for_later(one, other):
    stronger, weaker = max(one, other), min(one, other)

    _, requests = begin(
        Docket(),
        suspicion(99, 100, workload="b", strength=stronger),
        suspicion(99, 100, workload="a", strength=weaker),
    )

    priorities = {request.workload: request.priority for request in requests}
    assert priorities["b"] >= priorities["a"]


def test_every_metric_can_be_suspected():
    for metric in METRICS.values():
        assert begin(Docket(), suspicion(99, 100, metric=metric))[1]

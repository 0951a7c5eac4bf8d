"""Changed wall times beside other load: what counts, and which figures they have."""

import re
from dataclasses import replace

import numpy as np
import pytest

from perfledger.bundle import Plan
from perfledger.metrics import COLD_START, CPU_TIME, STEP_TIME, STEP_TIME_P95
from perfledger.records import CoreTimes, Device, FindingLevel, HostFinding, Side
from perfledger_baselines.judging.explanation import DecidedBy, explain_verdict
from perfledger_baselines.judging.judge import is_trade
from perfledger_baselines.judging.verdict import Outcome
from tests.baselines.judging.decision.loaded_steps import MARGIN, Step

UNLUCKY = Step(own_queue=0.03)  # in every pair, behind other programs


@pytest.mark.parametrize("sides", [(Step(), UNLUCKY), (UNLUCKY, Step())])
def test_a_longer_wait_for_other_programs_is_no_change(verdicts_of, sides):
    verdict = verdicts_of(*sides, load=0.1)[STEP_TIME]

    assert (verdict.outcome, verdict.is_warning) == (Outcome.UNDECIDED, False)
    assert re.fullmatch(
        r"wall time changed under load \([+-][\d.]+ % after 11 pairs\): steps waited [\d.]+ % of "
        "it for other programs, and the rest of it shows no change",
        verdict.reason,
    )
    assert verdict.estimate.low <= 0 <= verdict.estimate.high
    explanation = explain_verdict(verdict, Plan(seed=1, order=(), looks=(11,), margin=MARGIN))
    assert (explanation.decided_by, explanation.pairs_needed) == (DecidedBy.LOAD, None)


@pytest.mark.parametrize(
    ("sides", "outcome"),
    [
        pytest.param((Step(), UNLUCKY), Outcome.UNDECIDED, id="a longer wait"),
        pytest.param((UNLUCKY, Step()), Outcome.UNDECIDED, id="a shorter wait"),
        pytest.param((UNLUCKY, Step(cpu=0.06, own_queue=0.06)), Outcome.REGRESSED, id="more work"),
        pytest.param(
            (Step(), Step(cpu=0.06, own_queue=0.03)), Outcome.UNDECIDED, id="an unknown part of it"
        ),
        pytest.param((Step(), Step(off=0.03)), Outcome.REGRESSED, id="a sleep without load"),
    ],
)
def test_a_tail_beside_load_needs_support_too(verdicts_of, sides, outcome):
    def with_tail(run):
        times = run.samples[STEP_TIME.name]
        return replace(run, samples={**run.samples, STEP_TIME_P95.name: times})

    verdicts = verdicts_of(*sides, load=0.0, change=with_tail, metrics=(STEP_TIME_P95,))

    assert verdicts[STEP_TIME_P95].outcome is outcome


def test_without_a_known_wait_wall_time_decides(verdicts_of):
    verdict = verdicts_of(
        Step(), UNLUCKY, load=0.1, change=lambda run: replace(run, core_times=CoreTimes())
    )[STEP_TIME]

    assert verdict.outcome is Outcome.REGRESSED


OTHERS = HostFinding(name="other programs", level=FindingLevel.BUSY, detail="they use all cores")
AFTERWARDS = replace(OTHERS, name="other programs, afterwards")


def without_core_times(run):
    return replace(run, core_times=CoreTimes())


def without_cpu_time(run):
    return replace(without_core_times(run), samples={STEP_TIME.name: run.samples[STEP_TIME.name]})


@pytest.mark.parametrize("finding", [OTHERS, AFTERWARDS])
@pytest.mark.parametrize("head", [UNLUCKY, Step(cpu=0.06), Step(cpu=0.015)])
def test_beside_other_programs_nothing_supports_a_change_if_no_wait_is_known(
    verdicts_of, head, finding
):
    verdict = verdicts_of(Step(), head, load=0.1, change=without_cpu_time, findings=(finding,))[
        STEP_TIME
    ]

    assert (verdict.outcome, verdict.is_warning) == (Outcome.UNDECIDED, False)
    assert verdict.estimate is None
    assert re.fullmatch(
        r"wall time changed under load \([+-][\d.]+ % after 11 pairs\): other programs were busy, "
        "and how long steps waited for them is unknown; a quiet machine tells",
        verdict.reason,
    )
    explanation = explain_verdict(verdict, Plan(seed=1, order=(), looks=(11,), margin=MARGIN))
    assert (explanation.decided_by, explanation.pairs_needed) == (DecidedBy.LOAD, None)


@pytest.mark.parametrize(
    ("change", "finding", "outcome"),
    [
        (without_core_times, OTHERS, Outcome.REGRESSED),
        (without_cpu_time, replace(OTHERS, level=FindingLevel.NOISY), Outcome.REGRESSED),
        (without_cpu_time, replace(OTHERS, name="memory"), Outcome.REGRESSED),
        (lambda run: replace(without_cpu_time(run), device=Device.CUDA), OTHERS, Outcome.REGRESSED),
        (lambda run: run, OTHERS, Outcome.REGRESSED),
    ],
)
def test_cpu_time_supports_it_and_a_quiet_machine_or_another_device_needs_no_support(
    verdicts_of, change, finding, outcome
):
    verdicts = verdicts_of(Step(), Step(cpu=0.06), load=0.0, change=change, findings=(finding,))

    assert verdicts[STEP_TIME].outcome is outcome


def test_no_change_beside_other_programs_needs_no_known_wait(verdicts_of):
    verdicts = verdicts_of(Step(), Step(), load=0.0, change=without_cpu_time, findings=(OTHERS,))

    assert verdicts[STEP_TIME].outcome is Outcome.UNCHANGED


@pytest.mark.parametrize("metric", [STEP_TIME_P95, COLD_START])
def test_other_wall_times_need_support_too(verdicts_of, metric):
    def with_metric(run):
        times = run.samples[STEP_TIME.name]
        samples = {STEP_TIME.name: times, STEP_TIME_P95.name: times}
        first_s = 10 * times[0]
        return replace(run, core_times=CoreTimes(), samples=samples, warmups_s=(first_s,))

    verdicts = verdicts_of(
        Step(), Step(cpu=0.06), load=0.0, change=with_metric, metrics=(metric,), findings=(OTHERS,)
    )

    assert verdicts[metric].outcome is Outcome.UNDECIDED


def test_a_wait_that_is_not_known_of_every_pair_supports_no_change(verdicts_of):
    def without(run):
        return replace(run, core_times=CoreTimes()) if run.pair == 3 else run

    assert verdicts_of(Step(), UNLUCKY, change=without)[STEP_TIME].outcome is Outcome.UNDECIDED


@pytest.mark.parametrize(
    ("base", "head", "outcome"),
    [
        pytest.param(UNLUCKY, Step(own_queue=0.03, off=0.03), Outcome.REGRESSED, id="a sleep"),
        pytest.param(Step(off=0.06), UNLUCKY, Outcome.IMPROVED, id="a sleep that is gone"),
        pytest.param(UNLUCKY, Step(cpu=0.06, own_queue=0.03), Outcome.REGRESSED, id="more work"),
        pytest.param(
            Step(cpu=0.015, helpers=0.015),
            Step(cpu=0.015, helpers=0.03, own_queue=0.045),
            Outcome.UNDECIDED,
            id="more work of other threads: CPU time shows it",
        ),
        pytest.param(
            Step(cpu=0.03, own_queue=0.002),
            Step(cpu=0.017, helpers=0.017),
            Outcome.IMPROVED,
            id="more CPU time for speed",
        ),
        pytest.param(
            Step(cpu=0.015, helpers=0.03),
            Step(cpu=0.015, helpers=0.03, own_queue=0.03),
            Outcome.REGRESSED,
            id="a wait for own threads",
        ),
    ],
)
def test_beside_load_a_change_that_more_than_wall_time_shows_counts(
    verdicts_of, base, head, outcome
):
    assert verdicts_of(base, head, load=0.0)[STEP_TIME].outcome is outcome


@pytest.mark.parametrize(
    ("helper_wait", "outcome"),
    [
        pytest.param(0.0, Outcome.REGRESSED, id="asleep"),
        pytest.param(0.03, Outcome.UNDECIDED, id="for a helper without a core"),
        pytest.param(0.001, Outcome.REGRESSED, id="hardly for a helper"),
    ],
)
def test_a_wait_for_a_helper_that_waits_for_a_core_is_no_regression(
    verdicts_of, helper_wait, outcome
):
    half = Step(cpu=0.015, helpers=0.015, off=0.03, helper_wait=helper_wait)

    assert verdicts_of(Step(), half, load=0.1)[STEP_TIME].outcome is outcome


@pytest.mark.parametrize(("load", "outcome"), [(0.0, Outcome.REGRESSED), (4.0, Outcome.UNDECIDED)])
def test_programs_that_ended_are_a_sign_of_load_only_beside_load(verdicts_of, load, outcome):
    """As of a step that starts a program, which waits for a disk."""
    base = Step(cpu=0.005, helpers=0.001, off=0.05, helper_wait=0.05, is_unseen=True)
    head = replace(base, off=0.1, helper_wait=0.1)

    assert verdicts_of(base, head, load=load)[STEP_TIME].outcome is outcome


def test_beside_load_more_work_of_helpers_is_a_regression(verdicts_of):
    base = Step(cpu=0.005, helpers=0.015, off=0.03, helper_wait=0.015)
    head = Step(cpu=0.005, helpers=0.03, off=0.06, helper_wait=0.03)

    assert Outcome.REGRESSED in {
        verdict.outcome for verdict in verdicts_of(base, head, load=0.1).values()
    }


def test_more_cpu_time_is_no_trade_for_a_wait_that_only_base_had(verdicts_of):
    verdicts = verdicts_of(UNLUCKY, Step(cpu=0.033), load=0.1)

    assert verdicts[STEP_TIME].outcome is Outcome.UNDECIDED
    assert verdicts[CPU_TIME].is_regression
    assert not is_trade(verdicts[CPU_TIME], verdicts.values())


@pytest.mark.parametrize(
    "sides", [(Step(), Step(cpu=0.06, own_queue=0.12)), (Step(cpu=0.06, own_queue=0.12), Step())]
)
def test_the_figures_of_a_change_are_without_waits_for_other_programs(verdicts_of, sides):
    verdict = verdicts_of(*sides, load=0.1)[STEP_TIME]

    base, head = (step.cpu for step in sides)
    estimate = verdict.shown_estimate
    assert verdict.outcome in {Outcome.REGRESSED, Outcome.IMPROVED}
    assert estimate.change == pytest.approx(head / base - 1, rel=0.02)
    assert (estimate.base, estimate.head) == pytest.approx((base, head), rel=0.02)
    assert estimate.low < estimate.change < estimate.high
    assert verdict.excludes_waits
    assert re.fullmatch(
        r"p .* \(Holm\) after 11 pairs; [+-][\d.]+ % with the waits for other programs, [\d.]+ % "
        "of the time",
        verdict.reason,
    )


def test_a_wall_time_that_changed_as_much_as_cpu_time_keeps_its_figures(verdicts_of):
    """Two threads that waited: without the waits the change is known only between far bounds."""
    base = Step(cpu=0.015, helpers=0.015, own_queue=0.03)
    head = Step(cpu=0.03, helpers=0.03, own_queue=0.06)

    verdict = verdicts_of(base, head, load=0.1)[STEP_TIME]

    assert (verdict.outcome, verdict.queued_share) == (Outcome.REGRESSED, None)
    assert verdict.estimate.change == pytest.approx(1.0, abs=0.05)
    assert verdict.estimate.high < 1.2


def test_of_several_threads_it_says_what_would_settle_a_longer_wait(verdicts_of):
    base = Step(cpu=0.015, helpers=0.015, own_queue=0.03)
    head = replace(base, own_queue=0.09)

    verdicts = verdicts_of(base, head, load=0.1)

    assert verdicts[STEP_TIME].outcome is Outcome.UNDECIDED
    assert verdicts[STEP_TIME].reason.endswith(
        "for other programs, and maybe for their own threads; a quiet machine, or steps of one "
        "thread (OMP_NUM_THREADS=1), would tell"
    )
    # The middle of what its waits leave open is a time that nobody measured.
    assert verdicts[STEP_TIME].estimate is None


def test_more_work_of_helper_threads_is_no_trade_for_a_wait_that_only_base_had(verdicts_of):
    verdicts = verdicts_of(UNLUCKY, Step(helpers=0.01), load=0.1)

    assert verdicts[STEP_TIME].outcome is Outcome.UNDECIDED
    assert verdicts[CPU_TIME].is_regression
    assert not is_trade(verdicts[CPU_TIME], verdicts.values())


def test_more_cpu_time_for_a_speed_that_load_hides_is_undecided(verdicts_of):
    """The work of one thread is now that of two, which wait for each other or for the load."""
    one, two = Step(own_queue=0.05), Step(cpu=0.017, helpers=0.017, own_queue=0.017)

    verdicts = verdicts_of(one, two, load=0.1)

    assert verdicts[STEP_TIME].outcome is Outcome.UNDECIDED
    assert verdicts[CPU_TIME].outcome is Outcome.UNDECIDED
    assert verdicts[CPU_TIME].reason == (
        "more CPU time after 11 pairs, which may be for speed: whether steps became faster is "
        "unknown under load; a quiet machine would tell"
    )
    assert not verdicts[CPU_TIME].excludes_waits


def test_what_waits_cannot_support_is_unknown_without_a_pairs_core_times(verdicts_of):
    def without(run):
        return replace(run, core_times=CoreTimes()) if run.pair == 3 else run

    verdict = verdicts_of(UNLUCKY, Step(cpu=0.06, own_queue=0.15), load=0.1, change=without)[
        STEP_TIME
    ]

    assert (verdict.outcome, verdict.estimate) == (Outcome.UNDECIDED, None)
    assert verdict.reason.endswith(
        "for other programs, and the change without them is unknown; a quiet machine tells"
    )
    explanation = explain_verdict(verdict, Plan(seed=1, order=(), looks=(11,), margin=MARGIN))
    assert explanation.decided_by is DecidedBy.LOAD


@pytest.mark.parametrize(
    ("wait", "longer", "outcome"),
    [
        pytest.param(0.0, 1.5, Outcome.REGRESSED, id="no load"),
        pytest.param(0.03, 1.5, Outcome.UNDECIDED, id="what a wait may do"),
        pytest.param(0.03, 3.0, Outcome.REGRESSED, id="more than a wait may do"),
        pytest.param(0.03, 0.7, Outcome.UNDECIDED, id="what a wait on base may do"),
    ],
)
def test_a_one_time_cost_beside_load_must_change_by_more_than_waits(
    verdicts_of, wait, longer, outcome
):
    """Steps that wait half of their time may double the cost of a start."""

    def with_start(run):
        noise = np.exp(0.01 * np.random.default_rng([run.pair, run.side is Side.HEAD]).normal())
        start_s = 5.0 * noise * (longer if run.side is Side.HEAD else 1.0)
        return replace(run, warmups_s=(start_s,))

    step = Step(own_queue=wait)
    verdict = verdicts_of(step, step, load=0.0, change=with_start, metrics=(COLD_START,))[
        COLD_START
    ]

    assert verdict.outcome is outcome
    assert verdict.includes_waits is (outcome is Outcome.UNDECIDED)
    assert verdict.estimate.change == pytest.approx(longer - 1, abs=0.05)


@pytest.mark.parametrize(
    ("waits", "outcome"),
    [((0.0, 0.001), Outcome.REGRESSED), ((0.0002, 0.0012), Outcome.UNDECIDED)],
)
def test_a_fiftieth_of_the_time_is_load(verdicts_of, waits, outcome):
    base, head = (Step(own_queue=each) for each in waits)

    assert verdicts_of(base, head, load=0.0)[STEP_TIME].outcome is outcome


@pytest.mark.parametrize(
    ("sides", "outcome"),
    [
        pytest.param((Step(), UNLUCKY), Outcome.UNDECIDED, id="a longer wait"),
        pytest.param((Step(), Step(cpu=0.06)), Outcome.REGRESSED, id="more work"),
        pytest.param((Step(), Step(off=0.03)), Outcome.REGRESSED, id="a sleep"),
    ],
)
def test_steps_without_cpu_time_need_support_too(verdicts_of, sides, outcome):
    """Those that are too short for it: of them the waits are known."""

    def without_cpu_time(run):
        return replace(run, samples={STEP_TIME.name: run.samples[STEP_TIME.name]})

    verdicts = verdicts_of(*sides, load=0.3, change=without_cpu_time)

    assert verdicts[STEP_TIME].outcome is outcome
    assert CPU_TIME not in verdicts

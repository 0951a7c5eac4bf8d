"""Caps in time and money in, for how long a check may measure out."""

from dataclasses import replace
from datetime import date

import pytest

from perfledger.metrics import CPU_TIME, STEP_TIME
from perfledger.protocol import ChildRequest, Command, MeasuringEffort
from perfledger.records import Device, Machine, Side
from perfledger_runners.measuring.paired_runs import PairedRuns
from perfledger_runners.measuring.rounds.unmeasured import FutileWorkload
from perfledger_service.errors import SettingsError, UsageError
from perfledger_service.settings.sources import check_settings
from perfledger_service.usecases.check.measuring_budget import (
    TOO_NOISY,
    budget_notes,
    budget_shortage,
    measuring_allowance,
)

H100 = Machine(device=Device.CUDA, model="NVIDIA H100 80GB HBM3", memory_bytes=80 * 10**9, count=8)
LAPTOP = Machine(device=Device.CPU, model="Test CPU")


@pytest.fixture
def allowed():
    def allowed(machine=H100, **flags):
        settings, _ = check_settings(flags=flags, table=None, table_name="")
        return measuring_allowance(settings, machine, today=date(2026, 11, 20))

    return allowed


def test_without_a_cap_in_money_time_alone_decides(allowed):
    assert allowed(budget="5m").seconds == 300
    assert allowed(budget="5m").notes == ()


def test_money_buys_time_of_all_devices(allowed):
    found_measuring_allowance = allowed(budget="1h", budget_usd="2", device_price="2.50")

    assert found_measuring_allowance.seconds == 360
    (note,) = found_measuring_allowance.notes
    assert note.startswith(
        "the cost of measuring was limited to 2 USD: 360 s of 8 x NVIDIA H100 80GB"
    )
    assert note.endswith("at 2.50 USD an hour each (declared as device_price)")


def test_time_and_money_allow_the_lesser_of_the_two(allowed):
    assert allowed(budget="2m", budget_usd="1000", device_price="2.50").seconds == 120


def test_a_purchase_option_of_the_device_here_has_the_sheets_price_and_date(allowed):
    found_measuring_allowance = allowed(
        budget="24h", budget_usd="8", device_price="p5.48xlarge/on_demand"
    )

    assert 60 < found_measuring_allowance.seconds < 3600
    assert "AWS p5.48xlarge, on demand, as of 20" in found_measuring_allowance.notes[0]


@pytest.mark.parametrize(
    ("machine", "price", "complaint"),
    [
        pytest.param(H100, "", r"of NVIDIA H100 .* is unknown: .* to 'onprem-8xH100'", id="none"),
        pytest.param(LAPTOP, "", "set device_price to its price in USD per hour$", id="cpu"),
        pytest.param(
            LAPTOP, "onprem-8xH100", "the price of H100-80GB, but .* Test CPU", id="other"
        ),
        pytest.param(H100, "p5.48xlarge/spott", "neither USD an hour nor a purchase", id="typo"),
        pytest.param(H100, "0", "device_price is 0: give the USD an hour", id="free"),
        pytest.param(H100, "nan", "device_price is NaN: give", id="no number"),
        pytest.param(H100, "sNaN", "device_price is sNaN: give", id="signaling"),
        pytest.param(H100, "-1", "device_price is -1: give", id="negative"),
        pytest.param(H100, "1E-999999", "give the USD an hour", id="next to nothing"),
        pytest.param(H100, "1E+400", "give the USD an hour", id="more than any"),
    ],
)
def test_a_device_without_a_price_is_not_free(allowed, machine, price, complaint):
    with pytest.raises(UsageError, match=complaint):
        allowed(machine, budget_usd="2", device_price=price)


@pytest.mark.parametrize("usd", ["0", "-1", "nan", "inf", "lots"])
def test_a_cap_that_is_no_amount_of_money_is_an_error(allowed, usd):
    with pytest.raises(SettingsError, match="budget_usd"):
        allowed(budget_usd=usd, device_price="2.50")


def test_money_is_exact_in_what_is_said(allowed):
    assert "limited to 0.10 USD" in allowed(budget_usd="0.10", device_price="2.50").notes[0]
    assert "at 0.0014 USD an hour" in allowed(budget_usd="1", device_price="0.0014").notes[0]


def paired(bundle, **values):
    return PairedRuns(
        runs=bundle.runs, failures=(), skipped={}, logs={}, order=bundle.plan.order, **values
    )


NOISY = (1.3, 0.8, 1.25, 0.75, 1.2, 0.85)
UNSTEADY = (1.06, 0.95, 1.05, 0.94, 1.04, 0.97)
NEEDED = 181  # pairs like these


@pytest.mark.parametrize(
    ("seconds_per_pair", "advice"),
    [
        (2.0, f"about {NEEDED} pairs would, in 6.03 min: raise `budget` and `max_pairs`, or"),
        (21.0, TOO_NOISY),
    ],
)
def test_a_futile_workload_says_what_would_settle_it_in_an_hour(
    make_bundle, seconds_per_pair, advice
):
    bundle = make_bundle()
    runs = tuple(
        replace(run, samples={STEP_TIME.name: (UNSTEADY[run.pair],)})
        if run.side is Side.HEAD
        else replace(run, samples={STEP_TIME.name: (1.0,)})
        for run in bundle.runs
    )
    bundle = replace(bundle, runs=runs)
    (workload,) = {spec.id for spec in bundle.workloads}
    facts = FutileWorkload(pairs=6, seconds_left=30.4, seconds_per_pair=seconds_per_pair)

    (note,) = budget_notes(bundle, paired(bundle, futile={workload: facts}))

    assert note.startswith(
        f"measuring {workload} ended as futile after 6 pairs: the remaining 30 s of the budget "
    )
    assert f"unlikely to settle it; {advice}" in note


def test_what_was_settled_in_the_end_needs_no_note(make_bundle):
    bundle = make_bundle(ratio=1.5)
    (workload,) = {spec.id for spec in bundle.workloads}

    facts = FutileWorkload(pairs=6, seconds_left=1, seconds_per_pair=1)

    assert budget_notes(bundle, paired(bundle, futile={workload: facts})) == ()


def test_too_few_pairs_come_with_a_budget_that_would_do(make_bundle):
    bundle = make_bundle(pairs=2)
    runs = paired(bundle, seconds={"gpt:step": 6.0}, spent_s=20.0)

    # Two more pairs of 6 s, with a third of their time to spare: 35.6 s.
    (note,) = budget_notes(bundle, runs)
    assert note == (
        "the budget ended with too few pairs of gpt:step (2 of 4): a pair took 6 s, and "
        "`--budget 40s` would be enough for a test if the machine stays the same"
    )


def test_of_many_workloads_with_too_few_pairs_a_few_are_named(make_bundle):
    bundle = make_bundle(pairs=2)
    names = [f"gpt:{letter}" for letter in "abcde"]
    (spec,) = bundle.workloads
    bundle = replace(
        bundle,
        workloads=tuple(replace(spec, id=name) for name in names),
        runs=tuple(replace(run, workload=name) for name in names for run in bundle.runs),
    )

    (note,) = budget_notes(bundle, paired(bundle, seconds=dict.fromkeys(names, 6.0), spent_s=20.0))

    assert "gpt:a (2 of 4), gpt:b (2 of 4), gpt:c (2 of 4) and 2 more: a pair took 6 s" in note
    assert note.endswith("; -k measures fewer workloads in one check")


def test_pairs_without_readings_of_a_metric_are_not_counted_for_it(make_bundle):
    bundle = make_bundle(pairs=4)
    runs = tuple(
        replace(
            run,
            samples={
                STEP_TIME.name: (1.0 if run.side is Side.BASE else NOISY[run.pair],),
                **({CPU_TIME.name: (0.5,)} if run.pair > 1 else {}),
            },
        )
        for run in bundle.runs
    )
    bundle = replace(bundle, runs=runs, metrics=(STEP_TIME, CPU_TIME))

    (note,) = budget_notes(bundle, paired(bundle, seconds={"gpt:step": 6.0}, spent_s=20.0))

    # If every other pair has readings, two more of them take four pairs: 20 s and 1.3 of 24 s.
    assert "too few pairs of gpt:step (2 of 4 with readings of the CPU time, 4 in all)" in note
    assert "`--budget 60s`" in note


def test_the_budget_is_not_blamed_for_readings_that_all_planned_pairs_lack(make_bundle):
    bundle = make_bundle(pairs=4)
    runs = tuple(
        replace(run, samples={**run.samples, **({CPU_TIME.name: (0.5,)} if run.pair > 1 else {})})
        for run in bundle.runs
    )
    plan = replace(bundle.plan, looks=(4,))
    bundle = replace(bundle, runs=runs, plan=plan, metrics=(STEP_TIME, CPU_TIME))

    assert budget_notes(bundle, paired(bundle, seconds={"gpt:step": 6.0}, spent_s=20.0)) == ()


def test_a_longer_budget_is_in_minutes_and_counts_every_open_workload(make_bundle):
    bundle = make_bundle(pairs=3, workloads=("a:step", "b:step"))
    runs = paired(bundle, seconds={"a:step": 50.0, "b:step": 40.0}, spent_s=300.0)

    (note,) = budget_notes(bundle, runs)

    assert "a:step (3 of 4), b:step (3 of 4): a pair took 50 s, and `--budget 7m`" in note


def test_what_is_too_short_for_a_test_is_not_said_twice(make_bundle):
    bundle = make_bundle(pairs=2)
    facts = FutileWorkload(pairs=2, seconds_left=3.0, seconds_per_pair=6.0)

    notes = budget_notes(
        bundle,
        paired(bundle, seconds={"gpt:step": 6.0}, spent_s=20.0, futile={"gpt:step": facts}),
    )

    assert [note.startswith("the budget ended") for note in notes] == [True]


@pytest.mark.parametrize(
    ("seconds_left", "words"),
    [
        (75.0, ""),
        (74.9, ", for at most 9 of 10 workloads: the budget is too short for more"),
        (-20.0, ", for at most 0 of 10 workloads: the budget is too short for more"),
    ],
)
def test_a_budget_that_cannot_test_all_workloads_says_so_before_the_first_pair(seconds_left, words):
    request = ChildRequest(
        command=Command.MEASURE,
        root="head",
        repository=".",
        effort=MeasuringEffort(max_seconds=0.75),
        is_interleaved=True,
    )

    shortage = budget_shortage(range(10), request, fewest_pairs=5, seconds_left=seconds_left)

    assert shortage.removesuffix("; choose with -k or paths") == words

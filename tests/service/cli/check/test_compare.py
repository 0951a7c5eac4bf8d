"""`perfledger compare` as a user runs it: two bundles, or two files of runs."""

import json
from dataclasses import replace

import pytest
from typer.testing import CliRunner

from perfledger.bundle import Plan
from perfledger.metrics import PEAK_MEMORY, SM_ACTIVE, STEP_TIME, MetricScale, WorseDirection
from perfledger.records import Device, Failure, FailureReason, Machine, Side, WorkloadSpec
from perfledger_service.cli.app import app
from perfledger_service.errors import NotFoundError, UsageError
from perfledger_service.rendering.layout.number_format import NBSP
from perfledger_service.usecases.inputs.bundle_files import named_bundle_path, spool_bundle


@pytest.fixture
def compare(tmp_path):
    def compare(a, b, *arguments, code, name="runs.csv"):
        paths = [tmp_path / f"{side}-{name}" for side in "ab"]
        for path, content in zip(paths, (a, b), strict=True):
            path.write_text(content if isinstance(content, str) else content.to_json())
        words = ["compare", *map(str, paths), *arguments]
        done = CliRunner().invoke(app, words, env={"COLUMNS": "80"})
        if done.exception is not None and not isinstance(done.exception, SystemExit):
            raise done.exception
        assert done.exit_code == code, done.stdout
        return done.stdout.replace(NBSP, " ")

    return compare


def outcomes(text):
    return {
        (one["workload"], one["metric"]): one["outcome"] for one in json.loads(text)["verdicts"]
    }


def runs(*, ratio=1.0, noise=(0, 1, -1, 2, -2, 1, 0, -1)):
    return "ms\n" + "".join(f"{10 * ratio * (1 + 0.001 * one)}\n" for one in noise)


def test_the_heads_of_two_bundles_are_compared_and_a_slowdown_exits_with_1(compare, make_bundle):
    a, b = make_bundle(ratio=1.0), make_bundle(ratio=1.1, seed=1)

    text = compare(a, b, code=1)

    assert "regressed" in text
    assert "Not measured in pairs" in text
    assert "perfledger check --base" in " ".join(text.split())
    assert max(map(len, text.splitlines())) <= 80


def test_json_has_every_metric_with_its_estimate(compare, make_bundle):
    a, b = make_bundle(ratio=1.0), make_bundle(ratio=0.9, seed=1)

    text = compare(a, b, "--format", "json", code=0)

    assert outcomes(text) == {
        ("gpt:step", "step_time_p50"): "improved",
        ("gpt:step", "peak_memory"): "unchanged",
    }
    document = json.loads(text)
    estimate = document["verdicts"][0]["estimate"]
    assert estimate["low"] < -0.1 < estimate["high"]
    assert (estimate["runs"], document["is_paired"], document["exit_code"]) == (6, False, 0)


def test_markdown_has_a_row_for_each_verdict(compare, make_bundle):
    a, b = make_bundle(ratio=1.0), make_bundle(ratio=1.1, seed=1)

    text = compare(a, b, "--format", "markdown", code=1)

    assert "**`gpt:step`**" in text
    assert "| step time | 10.0 ms | 11.0 ms | +10." in text
    assert "Not measured in pairs" in text


def test_one_metric_can_be_chosen(compare, make_bundle):
    a, b = make_bundle(ratio=1.0), make_bundle(ratio=1.1, seed=1)

    text = compare(a, b, "--metric", "peak_memory", "--format", "json", code=0)

    assert outcomes(text) == {("gpt:step", "peak_memory"): "unchanged"}
    with pytest.raises(UsageError, match="no metric 'speed': there are 'step_time_p50'"):
        compare(a, b, "--metric", "speed", code=2)


def test_the_levels_are_those_of_a(compare, make_bundle):
    wide = Plan(seed=1, order=(), looks=(), alpha=0.01, margin=0.2, floor=0.15)
    a, b = make_bundle(ratio=1.0, plan=wide), make_bundle(ratio=1.1, seed=1)

    document = json.loads(compare(a, b, "--format", "json", code=0))

    assert (document["alpha"], document["margin"], document["floor"]) == (0.01, 0.2, 0.15)
    assert document["verdicts"][0]["outcome"] == "unchanged"


def test_other_machines_are_not_comparable(compare, make_bundle):
    other = Machine(device=Device.CPU, model="Other CPU")

    text = compare(make_bundle(), make_bundle(machine=other), "--format", "json", code=3)

    (verdict,) = json.loads(text)["verdicts"]
    assert verdict["outcome"] == "not measured"
    assert verdict["reason"] == "not comparable: A ran on cpu:Test CPU:1, B on cpu:Other CPU:1"


def test_steps_on_fewer_cores_are_not_comparable(compare, make_bundle):
    """By default a check keeps to the cores that others leave free: another time, others."""
    two, four = (
        make_bundle(machine=Machine(device=Device.CPU, model="Test CPU", cores=cores))
        for cores in (2, 4)
    )

    text = compare(two, four, "--format", "json", code=3)

    (verdict,) = json.loads(text)["verdicts"]
    assert verdict["outcome"] == "not measured"
    assert verdict["reason"] == ("not comparable: A had 2 of the CPU's cores, B 4 (set `cores`)")


def test_another_unit_of_work_a_failure_and_a_missing_workload_are_not_measured(
    compare, make_bundle
):
    spec = WorkloadSpec(id="gpt:step", module="gpt", function="step", units_per_step=8.0)
    failure = Failure(workload="gpt:step", side=Side.HEAD, why=FailureReason.RAISED, detail="boom")
    for other, why in (
        (make_bundle(workloads=("gpt:step",)), ""),
        (replace(make_bundle(), workloads=(spec,)), "its unit of work is another one"),
        (make_bundle(failures=(failure,)), "failed in B"),
        (make_bundle(workloads=("bert:step",)), "was not measured in B"),
    ):
        text = compare(make_bundle(), other, code=3 if why else 0)

        assert why in text


def test_metrics_that_the_bundles_define_differently_are_refused(compare, make_bundle):
    other = replace(PEAK_MEMORY, worse=WorseDirection.LOWER)

    with pytest.raises(UsageError, match="the bundles define 'peak_memory' differently"):
        compare(make_bundle(), make_bundle(metrics=(STEP_TIME, other)), code=2)


def test_a_utilization_that_fell_for_speed_fails_nothing(compare, make_bundle):
    def bundle(ratio, share):
        given_bundle = make_bundle(ratio=ratio, metrics=(STEP_TIME, SM_ACTIVE))
        return replace(
            given_bundle,
            runs=tuple(
                replace(
                    run,
                    samples={
                        STEP_TIME.name: run.samples[STEP_TIME.name],
                        SM_ACTIVE.name: (share + 0.0001 * run.pair,),
                    },
                )
                for run in given_bundle.runs
            ),
        )

    text = compare(bundle(1.0, 0.9), bundle(0.5, 0.7), "--format", "json", code=0)

    assert outcomes(text)["gpt:step", "sm_active"] == "regressed"


def test_bundles_without_a_workload_are_not_measured(compare, make_bundle):
    empty = make_bundle(workloads=(), runs=())

    assert "Nothing to compare" in compare(empty, empty, code=3)


@pytest.mark.parametrize(
    ("ratio", "outcome", "code"),
    [(1.1, "regressed", 1), (1.0, "unchanged", 0), (0.9, "improved", 0)],
)
def test_files_of_runs_are_compared(compare, ratio, outcome, code):
    text = compare(runs(), runs(ratio=ratio), "--format", "json", code=code)

    assert outcomes(text) == {("ms", "ms"): outcome}


def test_an_unknown_column_is_taken_as_a_time_with_a_note(compare):
    assumed = compare(runs(), runs(ratio=1.1), code=1)
    stated = compare(runs(), runs(ratio=1.1), "--worse", "lower", code=0)

    assert "column ms was read as a time (higher is worse)" in " ".join(assumed.split())
    assert "read as a time" in compare(runs(), runs(), "--format", "markdown", code=0)
    assert "improved" in stated
    assert "read as a time" not in stated


def test_a_column_named_after_a_metric_has_its_direction_and_unit(compare):
    a, b = ("cpu_active\n" + "0.9\n0.901\n0.899\n" * 3, "cpu_active\n" + "0.7\n0.701\n" * 4)

    text = compare(a, b, code=1)

    assert "90.0 %" in text
    assert "read as a time" not in text


def test_few_runs_are_no_verdict(compare):
    assert "each side needs 4" in compare("ms\n1\n2\n", "ms\n1\n2\n", code=3)


@pytest.mark.parametrize("value", ["nan", "0", "-1"])
def test_runs_without_a_value_are_left_out_and_counted(compare, value):
    text = compare(runs(), runs() + f"{value}\n", "--format", "json", code=0)

    reason = json.loads(text)["verdicts"][0]["reason"]
    assert "after 8 A and 8 B runs" in reason
    assert "; 1 of 9 B runs left out: zero, negative or not a number" in reason


@pytest.mark.parametrize(
    ("failed", "kept_count", "outcome"), [(2, 6, "unchanged"), (3, 8, "not measured")]
)
@pytest.mark.parametrize("value", ["nan", "0"])
def test_over_a_quarter_of_the_runs_left_out_is_not_measured(
    compare, value, failed, kept_count, outcome
):
    few = runs(noise=(0, 1, -1, 2, -2, 1, 0, -1)[:kept_count]) + failed * f"{value}\n"
    code = 0 if outcome == "unchanged" else 3

    text = compare(few, runs(), "--format", "json", code=code)

    (verdict,) = json.loads(text)["verdicts"]
    assert verdict["outcome"] == outcome
    if code:
        assert verdict["reason"] == (
            "A: over a quarter of the runs (3 of 11) are zero, negative or not a number"
        )


def test_a_change_of_more_than_a_million_times_says_that_it_is_capped(compare):
    text = compare(runs(), runs(ratio=1e9), "--format", "json", code=1)

    (verdict,) = json.loads(text)["verdicts"]
    assert verdict["estimate"]["low"] == verdict["estimate"]["high"]
    assert "; the sides differ by more than a million times, shown as a factor" in verdict["reason"]


def test_the_reason_of_a_count_has_no_interval(compare, make_bundle):
    exact = replace(PEAK_MEMORY, name="launches", unit="", scale=MetricScale.EXACT)

    def bundle(number):
        given_bundle = make_bundle(ratio=1.0, metrics=(STEP_TIME, exact))
        return replace(
            given_bundle,
            runs=tuple(
                replace(
                    run,
                    samples={
                        STEP_TIME.name: run.samples[STEP_TIME.name],
                        "launches": (number,),
                    },
                )
                for run in given_bundle.runs
            ),
        )

    text = compare(bundle(100.0), bundle(120.0), code=1)

    assert "+20.0 %   " in text
    assert "a count, the same in 6 A and 6 B runs" in text


def test_unlike_inputs_folders_and_absent_files_are_refused(compare, make_bundle, tmp_path):
    with pytest.raises(UsageError, match="compare a bundle with a bundle, or a table with a table"):
        compare(make_bundle(), runs(), code=2)
    with pytest.raises(
        UsageError,
        match="--worse is only for CSV and JSON files: a bundle's metrics have a direction",
    ):
        compare(make_bundle(), make_bundle(), "--worse", "lower", code=2)
    for other, error in ((tmp_path, UsageError), (tmp_path / "absent.csv", NotFoundError)):
        done = CliRunner().invoke(app, ["compare", str(other), str(other)])
        assert isinstance(done.exception, error)


def test_a_kept_name_alone_is_compared_with_the_last_check(make_bundle, tmp_path):
    environment = {"XDG_STATE_HOME": str(tmp_path), "COLUMNS": "80"}
    before = make_bundle(ratio=1.0, created_at="2027-01-01T00:00:00+00:00", id="1" * 32)
    after = make_bundle(ratio=1.1, seed=1, created_at="2027-01-02T00:00:00+00:00", id="2" * 32)
    spool_bundle(before, environment, also=named_bundle_path("first", environment))
    path = spool_bundle(after, environment)

    done = CliRunner().invoke(app, ["compare", "first"], env=environment)

    assert done.exit_code == 1, done.output
    assert "first.json" in done.stdout
    assert path.name[:20] in done.stdout

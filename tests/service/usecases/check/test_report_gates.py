"""Reports of checks whose configuration asks for more metrics, and of workloads with variants."""

from dataclasses import replace
from datetime import date

import pytest

from perfledger.compile_record import CompileRecord
from perfledger.metrics import METRICS, OPTIONAL_METRICS
from perfledger.records import Failure, FailureReason, MemoryReadings, Side
from perfledger_baselines.judging.verdict import Outcome
from perfledger_service.usecases.check.report_builder import build_report
from perfledger_service.values.report import ExitCode

TODAY = date(2026, 11, 20)
MEGABYTE = 1e6


def with_cold_start(run, factor):
    return replace(run, warmups_s=(factor * (1 + run.pair / 1000), 0.01))


def with_compile_time(run, factor):
    seconds = factor * (1 + run.pair / 1000)
    return replace(run, compiled=CompileRecord(phases_s={"backend compile": seconds}))


def with_growth(run, factor):
    kept_bytes = 1e4 * factor * (1 + run.pair / 1000)  # bytes of each step
    steps = (100, 200, 300, 400)
    in_use = tuple(MEGABYTE + kept_bytes * step for step in steps)
    return replace(run, memory=MemoryReadings(steps=steps, in_use_bytes=in_use))


GATES = {
    "cold_start": with_cold_start,
    "compile_time": with_compile_time,
    "memory_over_time": with_growth,
}


@pytest.fixture
def report_of(make_bundle):
    """Report a check that asks for a metric, which on head is so many times that of base."""

    def make(name, ratio):
        bundle = make_bundle(ratio=1.0)
        runs = tuple(
            GATES[name](run, ratio if run.side is Side.HEAD else 1.0) for run in bundle.runs
        )
        metrics = (*METRICS.values(), OPTIONAL_METRICS[name])
        return build_report(replace(bundle, runs=runs, metrics=metrics), today=TODAY, is_local=True)

    return make


@pytest.mark.parametrize("name", GATES)
def test_a_metric_that_was_asked_for_fails_the_check_where_it_regressed(report_of, name):
    report = report_of(name, 2.0)

    assert report.exit_code is ExitCode.REGRESSION
    (verdict,) = report.verdicts_of(Outcome.REGRESSED)
    assert verdict.metric.name == name


@pytest.mark.parametrize("name", GATES)
def test_it_fails_nothing_where_it_is_the_same(report_of, name):
    assert report_of(name, 1.0).exit_code is ExitCode.OK


@pytest.mark.parametrize("name", GATES)
def test_asked_for_and_not_read_it_is_never_green(make_bundle, name):
    metrics = (*METRICS.values(), OPTIONAL_METRICS[name])

    report = build_report(make_bundle(ratio=1.0, metrics=metrics), today=TODAY, is_local=True)

    assert report.exit_code is ExitCode.UNCERTAIN
    assert [each.metric.name for each in report.verdicts_of(Outcome.NOT_MEASURED)] == [name]


@pytest.fixture
def with_variants(make_bundle):
    """A check of a step as written, and of its compiled variant, at a third of its time."""

    def make(**values):
        names = ("gpt:step", "gpt:step[variant=compile]")
        bundle = make_bundle(ratio=1.0, workloads=names)
        runs = tuple(
            replace(run, samples={name: tuple(v / 3 for v in each) for name, each in scaled})
            if (scaled := run.samples.items()) and run.workload == names[1]
            else run
            for run in bundle.runs
        )
        specs = tuple(
            replace(spec, variant="compile" if spec.id == names[1] else "")
            for spec in bundle.workloads
        )
        return replace(bundle, runs=runs, workloads=specs, **values)

    return make


def test_the_fastest_variant_is_in_the_report_and_its_first_note(with_variants):
    report = build_report(with_variants(), today=TODAY, is_local=True)

    (ranking,) = report.variants
    assert (ranking.workload, ranking.head and ranking.head.fastest) == ("gpt:step", "compile")
    assert report.notes[0].startswith("gpt:step: compile is the fastest variant, as on base (eager")


def test_a_variant_that_is_not_available_is_neither_green_nor_an_error(with_variants):
    failure = Failure(
        workload="gpt:step[variant=compile]",
        side=Side.HEAD,
        why=FailureReason.NOT_AVAILABLE,
        detail="variant 'compile' needs a C++ compiler: install g++",
    )

    report = build_report(with_variants(failures=(failure,)), today=TODAY, is_local=True)

    assert report.exit_code is ExitCode.UNCERTAIN
    assert "is not available" in report.headline
    assert "unknown; not measured: compile" in report.notes[0]

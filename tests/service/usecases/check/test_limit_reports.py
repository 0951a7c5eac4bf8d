"""What a report says of limits on the work of a step."""

from datetime import date

import pytest

from perfledger.records import Side
from perfledger.step_work import FLOPS, Count, CountedWork, StepWork
from perfledger_service.usecases.check.report_builder import build_report
from perfledger_service.values.report import Conclusion, ExitCode


@pytest.fixture
def reported(make_bundle):
    def report(**values):
        return build_report(make_bundle(**values), today=date(2026, 11, 20), is_local=True)

    return report


def counted(base, head, **changes):
    return tuple(
        CountedWork(
            workload="gpt:step",
            side=side,
            work=StepWork(
                counts=(Count(name=FLOPS, unit="FLOP", value=value, source="formulas", **changes),)
            ),
        )
        for side, value in zip(Side, (base, head), strict=True)
    )


def test_work_above_a_limit_fails_a_check_that_timed_nothing(reported):
    report = reported(
        runs=(),
        skipped={"gpt:step": "not timed"},
        fail_on=("flops > 5 %",),
        work=counted(1e12, 1.2e12),
    )

    assert (report.conclusion, report.exit_code) == (Conclusion.FAILURE, ExitCode.REGRESSION)
    assert report.title == "Above a limit on the work of a step"
    sentence = (
        "gpt:step: floating-point operations 1.00\N{NO-BREAK SPACE}TFLOP on base, "
        "1.20\N{NO-BREAK SPACE}TFLOP on head (fail_on: flops > 5 %)"
    )
    assert report.headline == f"Above a limit: {sentence}"
    assert sentence in report.notes


def test_what_cannot_be_told_of_a_limit_is_said_and_fails_nothing(reported):
    report = reported(
        ratio=1.0, fail_on=("flops > 5 %",), work=counted(1e12, 1.2e12, is_complete=False)
    )

    assert report.conclusion is Conclusion.SUCCESS
    assert report.limits[0].reason == "base's count is not complete"
    assert (
        "fail_on flops > 5 % cannot be evaluated for gpt:step: base's count is not complete"
        in report.notes
    )


def test_a_workload_that_was_not_counted_keeps_no_limit(reported):
    report = reported(ratio=1.0, fail_on=("flops > 5 %",))

    assert [(each.workload, each.outcome) for each in report.limits] == [("gpt:step", "unknown")]

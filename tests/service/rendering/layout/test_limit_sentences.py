import pytest

from perfledger.records import Side
from perfledger.step_work import FLOPS, PROGRAM_MEMORY, Count, CountedWork, StepWork
from perfledger.work_limit import parse_work_limit
from perfledger_baselines.judging.work_limits import judge_work_limits
from perfledger_service.rendering.layout.limit_sentences import (
    exceeded_sentences,
    unknown_sentences,
)

COUNTS = (
    (Count(name=FLOPS, unit="FLOP", value=1e12, source="x"),),
    (
        Count(name=FLOPS, unit="FLOP", value=2e12, source="x"),
        Count(name=PROGRAM_MEMORY, unit="B", value=float(2**31), source="x"),
    ),
)
WORK = tuple(
    CountedWork(workload="m:f", side=side, work=StepWork(counts=counts))
    for side, counts in zip(Side, COUNTS, strict=True)
)


def judged(*rules, device_bytes=2**30):
    limits = map(parse_work_limit, rules)
    return judge_work_limits(limits, WORK, ["m:f", "m:g"], device_bytes=device_bytes)


@pytest.mark.parametrize(
    ("rule", "sentence"),
    [
        (
            "flops > 5 %",
            (
                "m:f: floating-point operations 1.00 TFLOP on base, 2.00 TFLOP on head "
                "(fail_on: flops > 5 %)"
            ),
        ),
        (
            "flops > 1.5 TFLOP",
            (
                "m:f: floating-point operations 2.00 TFLOP on head, above 1.50 TFLOP "
                "(fail_on: flops > 1.5 TFLOP)"
            ),
        ),
        (
            "compiled_memory > device",
            (
                "m:f: memory of the largest program 2.00 GiB on head, above 1.00 GiB "
                "(fail_on: compiled_memory > device)"
            ),
        ),
    ],
)
def test_a_sentence_has_the_workload_both_figures_and_the_limit(rule, sentence):
    (text,) = exceeded_sentences(judged(rule))

    assert text.replace("\N{NO-BREAK SPACE}", " ") == sentence


def test_a_limit_that_cannot_be_told_is_said_once_for_all_its_workloads():
    limits = judged("flops > 5 %", "compiled_memory > device", device_bytes=None)

    assert list(unknown_sentences(limits)) == [
        "fail_on flops > 5 % cannot be evaluated for m:g: head has no such count",
        (
            "fail_on compiled_memory > device cannot be evaluated for m:f: the memory of the "
            "device is unknown"
        ),
        "fail_on compiled_memory > device cannot be evaluated for m:g: head has no such count",
    ]

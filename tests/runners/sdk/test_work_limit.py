from contextlib import suppress

import pytest
from hypothesis import given, strategies as st

from perfledger.step_work import FLOPS, OPERATORS, PROGRAM_MEMORY
from perfledger.work_limit import LimitKind, WorkLimit, parse_work_limit


@pytest.mark.parametrize(
    ("text", "limit"),
    [
        (
            "flops > 5 %",
            WorkLimit(text="flops > 5 %", count=FLOPS, kind=LimitKind.BASE, share=0.05),
        ),
        ("flops>0%", WorkLimit(text="flops>0%", count=FLOPS, kind=LimitKind.BASE)),
        (
            " flops  >  2.5 TFLOP ",
            WorkLimit(text="flops > 2.5 TFLOP", count=FLOPS, kind=LimitKind.ABSOLUTE, value=2.5e12),
        ),
        (
            "compiled_memory > 40 GiB",
            WorkLimit(
                text="compiled_memory > 40 GiB",
                count=PROGRAM_MEMORY,
                kind=LimitKind.ABSOLUTE,
                value=40.0 * 2**30,
            ),
        ),
        (
            "compiled_memory > device",
            WorkLimit(text="compiled_memory > device", count=PROGRAM_MEMORY, kind=LimitKind.DEVICE),
        ),
        (
            "operators > 1e3",
            WorkLimit(
                text="operators > 1e3", count=OPERATORS, kind=LimitKind.ABSOLUTE, value=1000.0
            ),
        ),
    ],
)
def test_a_limit_is_a_count_and_a_threshold(text, limit):
    assert parse_work_limit(text) == limit


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "write COUNT > THRESHOLD"),
        ("flops", "write COUNT > THRESHOLD"),
        ("flops < 5 %", "write COUNT > THRESHOLD"),
        ("flops > -5 %", "write COUNT > THRESHOLD"),
        ("flops > nan", "write COUNT > THRESHOLD"),
        ("flops > 5 % %", "write COUNT > THRESHOLD"),
        ("flops > 5 " + " " * 80 + "%", "write COUNT > THRESHOLD"),
        ("flop > 5 %", "choose from flops, bytes"),
        ("flops > device", "only compiled_memory"),
        ("flops > 5 GB", "'GB' is not a unit of flops: write %, or FLOP, KFLOP"),
        ("flops > 5", "'no unit' is not a unit of flops"),
        ("operators > 5 GB", "write %, or no unit"),
    ],
)
def test_another_text_says_what_to_write(text, complaint):
    with pytest.raises(ValueError, match=complaint):
        parse_work_limit(text)


@given(st.text(max_size=100))
def test_any_text_is_a_limit_or_an_error_of_ours(text):
    with suppress(ValueError):
        limit = parse_work_limit(text)
        assert limit.share >= 0
        assert limit.value >= 0


def test_a_threshold_is_unknown_without_what_it_is_relative_to():
    relative, device = map(parse_work_limit, ("flops > 5 %", "compiled_memory > device"))

    assert relative.threshold(base=200.0, device_bytes=None) == pytest.approx(210.0)
    assert relative.threshold(base=None, device_bytes=1) is None
    assert device.threshold(base=1.0, device_bytes=16) == 16.0
    assert device.threshold(base=1.0, device_bytes=None) is None

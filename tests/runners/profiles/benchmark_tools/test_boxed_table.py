"""The tables here are written by hand in the shape that GenAI-Perf and AIPerf print."""

import pytest
from hypothesis import given, strategies as st

from perfledger.records import Side
from perfledger_profiles.benchmark_tools.genai_perf import printed_rows, read_genai_perf
from perfledger_profiles.formats import ProfileFormat, detect_format
from perfledger_profiles.parsing.errors import ProfileError

PRINTED = """\
INFO     Benchmark completed successfully
            NVIDIA AIPerf | LLM Metrics
┏━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━┳━━━━━━━━━━━┳━━━━━━━┳━━━━━━━━━━┓
┃                               Metric ┃       avg ┃   min ┃      p99 ┃
┡━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━╇━━━━━━━━━━━╇━━━━━━━╇━━━━━━━━━━┩
│             Time to First Token (ms) │  1,229.91 │ 11.22 │ 2,786.88 │
│     Output Token Throughput Per User │     89.23 │ 75.93 │      11… │
│                    (tokens/sec/user) │           │       │          │
│           Request Throughput (req/s) │      4.56 │   N/A │        - │
└──────────────────────────────────────┴───────────┴───────┴──────────┘
"""


def readings(text):
    found_readings = read_genai_perf(text.encode(), workload="m:f", side=Side.HEAD).readings
    return {one.name: (one.value, one.unit) for one in found_readings}


def test_what_is_printed_is_read_as_what_is_exported():
    assert readings(PRINTED) == {
        "ttft_mean": (pytest.approx(1.22991), "s"),
        "ttft_min": (pytest.approx(0.01122), "s"),
        "ttft_p99": (pytest.approx(2.78688), "s"),
        "output_token_throughput_per_user_mean": (89.23, "1/s"),
        "output_token_throughput_per_user_min": (75.93, "1/s"),
        "throughput_requests": (4.56, "1/s"),
    }


def test_genai_perfs_own_head_and_units_are_known():
    text = PRINTED.replace("   Metric ┃", "Statistic ┃").replace("(req/s)", "(per sec)")

    assert readings(text)["throughput_requests"] == (4.56, "1/s")
    assert detect_format(text.encode(), "out.txt") is ProfileFormat.GENAI_PERF


def test_a_printed_table_is_known_by_its_content():
    assert detect_format(PRINTED.encode(), "out.txt") is ProfileFormat.GENAI_PERF


def test_a_table_of_something_else_is_refused():
    with pytest.raises(ProfileError):
        readings("┃ Metric ┃ size ┃\n│ rows │ 5 │\n")


@given(st.lists(st.text(alphabet="┃│ (a)5,\n"), max_size=20).map("".join))
def test_any_boxes_are_rows_or_none(text):
    assert all(isinstance(cell, str) for row in printed_rows(text.split("\n")) for cell in row)


@pytest.mark.parametrize(
    ("table", "rows"),
    [
        ("│ a │ 1 │\n│ b │   │", [["a b", "1"]]),
        ("│ a │ 1 │\n│ b │ 2 │", [["a", "1"], ["b", "2"]]),
        ("│ a │ 1 │ 2 │\n│ b │ 3 │   │", [["a", "1", "2"], ["b", "3", ""]]),
        ("│ a │\n│ b │", [["a"], ["b"]]),
    ],
)
def test_only_a_row_with_nothing_but_a_name_continues_the_one_above(table, rows):
    assert printed_rows(table.splitlines()) == rows

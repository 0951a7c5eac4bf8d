"""`perfledger trace whatif` as a user runs it, on traces that these tests write."""

import json

import pytest

from perfledger_service.errors import UsageError
from tests.service.cli.trace.example_traces import a_trace

# Reading happens in a process of its own.
pytestmark = pytest.mark.slow


def test_a_what_if_follows_amdahls_law(trace, write):
    file = write("one.json", a_trace())

    document = json.loads(trace("whatif", file, "--speedup", "compute=2", "--format", "json"))

    (change,) = document["changes"]
    share = change["share"]
    assert document["new_step_seconds"] == pytest.approx(
        document["step_seconds"] * (1 - share + share / 2)
    )


@pytest.mark.parametrize(
    "factor",
    ["compute", "compute=", "=2", "compute=0", "compute=nan", "compute=1e9", "compute=1e-9", "a=b"],
)
def test_an_invalid_factor_is_an_error(trace, write, factor):
    with pytest.raises(UsageError, match="give NAME=FACTOR"):
        trace("whatif", write("one.json", a_trace()), "--speedup", factor)


def test_a_part_that_the_step_lacks_is_an_error(trace, write):
    with pytest.raises(UsageError, match="the profile has nothing named 'gpu'"):
        trace("whatif", write("one.json", a_trace()), "--speedup", "gpu=2")

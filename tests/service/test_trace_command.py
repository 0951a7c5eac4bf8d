"""`perfledger trace` as a user runs it, on traces that these tests write."""

import json
from xml.etree import ElementTree

import pytest
from typer.testing import CliRunner

from perfledger.profile import Bucket, Profile, Slice
from perfledger.records import Side
from perfledger_service.cli.app import app
from perfledger_service.errors import NotFoundError, UsageError
from perfledger_service.usecases.explaining import look_at
from perfledger_service.usecases.tracing import export

# Reading happens in a process of its own.
pytestmark = pytest.mark.slow

STEP_US = 1000


def a_trace(*, copies_us=100, steps=4):
    """Return a Chrome trace as torch.profiler writes them, made up: steps of two operations."""
    events = []
    for number in range(steps):
        start = number * (STEP_US + copies_us)
        for name, category, offset, length in (
            (f"ProfilerStep#{number}", "user_annotation", 0, STEP_US + copies_us),
            ("aten::mm", "cpu_op", 100, 700),
            ("aten::copy_", "cpu_op", 850, copies_us),
        ):
            events.append(
                {
                    "ph": "X",
                    "cat": category,
                    "name": name,
                    "pid": 1,
                    "tid": 1,
                    "ts": start + offset,
                    "dur": length,
                }
            )
    return json.dumps({"schemaVersion": 1, "traceEvents": events})


@pytest.fixture
def write(tmp_path):
    def write(name, text):
        path = tmp_path / name
        path.write_text(text)
        return str(path)

    return write


@pytest.fixture
def trace():
    def trace(*arguments):
        done = CliRunner().invoke(app, ["trace", *arguments], env={"COLUMNS": "80"})
        if done.exception is not None and not isinstance(done.exception, SystemExit):
            raise done.exception
        assert done.exit_code == 0
        return done.stdout.replace("\u00a0", " ")

    return trace


def test_a_summary_says_what_the_file_is_and_where_the_step_goes(trace, write, tmp_path):
    shown = trace("summary", write("one.json", a_trace()))

    assert "one.json: torch.profiler, 3 steps of 1.10 ms (mean)" in shown
    assert "aten::mm" in shown
    assert max(map(len, shown.splitlines())) <= 80
    assert [path.name for path in tmp_path.iterdir()] == ["one.json"]


def test_a_summary_in_json_is_the_profile(trace, write):
    document = json.loads(trace("summary", write("one.json", a_trace()), "--format", "json"))

    assert document["profile"]["step_seconds"] == pytest.approx(0.0011)
    assert document["name"] == "one.json"


def test_a_summary_is_drawn_and_written_to_a_file(trace, write, tmp_path):
    drawn = tmp_path / "one.svg"

    shown = trace(
        "summary", write("one.json", a_trace()), "--format", "svg", "--output", str(drawn)
    )

    assert shown == ""
    assert ElementTree.parse(drawn).getroot().tag.endswith("svg")


def test_two_traces_are_compared_and_the_cause_is_named(trace, write):
    files = write("base.json", a_trace()), write("head.json", a_trace(copies_us=400))

    shown = trace("diff", *files)
    document = json.loads(trace("diff", *files, "--format", "json"))

    assert "Why the step is slower" in shown
    assert "aten::copy_" in shown
    assert document["explanation"]["causes"][0]["name"] == "aten::copy_"
    assert (document["base"], document["head"]) == ("base.json", "head.json")


def test_two_traces_are_written_as_markdown_and_drawn(trace, write):
    files = write("base.json", a_trace()), write("head.json", a_trace(copies_us=400))

    assert "| `aten::copy_`" in trace("diff", *files, "--format", "markdown")
    assert trace("diff", *files, "--format", "svg").startswith("<svg")


def test_a_what_if_is_amdahls(trace, write):
    file = write("one.json", a_trace())

    document = json.loads(trace("whatif", file, "--faster", "compute=2", "--format", "json"))

    (change,) = document["changes"]
    share = change["share"]
    assert document["new_step_seconds"] == pytest.approx(
        document["step_seconds"] * (1 - share + share / 2)
    )


@pytest.mark.parametrize("given", ["compute", "compute=", "=2", "compute=0", "compute=nan", "a=b"])
def test_a_factor_that_is_none_is_said_plainly(trace, write, given):
    with pytest.raises(UsageError, match="give NAME=FACTOR"):
        trace("whatif", write("one.json", a_trace()), "--faster", given)


def test_a_part_that_the_step_does_not_have_is_said_plainly(trace, write):
    with pytest.raises(UsageError, match="nothing in the profile is called 'gpu'"):
        trace("whatif", write("one.json", a_trace()), "--faster", "gpu=2")


def test_a_file_that_is_not_there_is_said_plainly(trace, tmp_path):
    with pytest.raises(NotFoundError, match=r"there is no file absent\.json"):
        trace("summary", str(tmp_path / "absent.json"))
    with pytest.raises(UsageError, match="is a folder"):
        trace("summary", str(tmp_path))


@pytest.mark.parametrize("content", ["", "hello", "{}", "[" * 10_000])
def test_a_file_that_is_no_trace_is_an_error_of_one_line(trace, write, content):
    with pytest.raises(UsageError) as caught:
        trace("summary", write("odd.json", content))

    assert "odd.json" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_file_without_a_timeline_cannot_be_exported():
    profile = Profile(
        workload="nsys.csv",
        side=Side.HEAD,
        tool="nsys",
        steps=1,
        step_seconds=1.0,
        operations=(),
        has_steps=False,
    )

    with pytest.raises(UsageError, match=r"nsys\.csv has no timeline to export"):
        export(look_at("nsys.csv", profile))


def test_a_timeline_is_exported_under_the_files_name():
    call = Slice(lane="host", name="mm", bucket=Bucket.COMPUTE, start_seconds=0.0, seconds=1.0)
    profile = Profile(
        workload="one.json",
        side=Side.HEAD,
        tool="torch.profiler",
        steps=1,
        step_seconds=1.0,
        operations=(),
        slices=(call,),
    )

    document = json.loads(export(look_at("one.json", profile)))

    assert document["name"] == "one.json"
    assert document["shared"]["frames"] == [{"name": "mm"}]

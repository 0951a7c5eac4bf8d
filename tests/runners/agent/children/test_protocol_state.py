import json

import pytest

from perfledger.protocol import PROTOCOL_VERSION, Command
from perfledger_runners.children.protocol_parser import GarbageError
from perfledger_runners.children.protocol_state import ProtocolState, ends_with_stop


def line(event, **fields):
    return json.dumps({"version": PROTOCOL_VERSION, "event": event, **fields}).encode()


def run_line(workload="w"):
    return line(
        "run",
        workload=workload,
        started_at="2026-11-20T12:00:00+00:00",
        samples={"step_time_p50": [0.5]},
        device="cpu",
    )


def refusal_of(*workloads):
    return line("no_fork", workloads=workloads, reason="its imports leave a thread running")


WINDOWS = line("windows", workload="w", windows={"reason": "no memory"})


def talk(*lines, command=Command.MEASURE, workloads=("w", "v"), windowed=(), is_forking=False):
    conversation = ProtocolState(
        command, frozenset(workloads), frozenset(windowed), is_forking=is_forking
    )
    for each in lines:
        conversation.accept(each)
    return conversation


def test_a_whole_conversation_is_accepted():
    done = talk(
        line("facts"),
        line("started", workload="w"),
        line("sampling", workload="w"),
        run_line(),
        line("started", workload="v"),
        line("failed", workload="v", reason="raised"),
        line("done"),
    )

    assert done.is_done
    assert done.finished == {"w", "v"}


def test_a_workload_is_under_way_from_its_start_to_its_result():
    assert not talk(line("facts")).is_in_workload
    assert talk(line("started", workload="w")).is_in_workload
    assert not talk(line("started", workload="w"), run_line()).is_in_workload


def test_a_workload_with_windows_has_its_result_when_they_came():
    lines = [line("started", workload="w"), run_line(), line("turn", workload="w")]

    conversation = talk(*lines, windowed=["w"])

    assert conversation.is_in_windows
    assert conversation.is_in_workload
    conversation.accept(WINDOWS)
    assert conversation.finished == {"w"}
    assert not conversation.is_in_windows


def test_a_teardown_may_fail_after_the_windows():
    conversation = talk(
        line("started", workload="w"),
        run_line(),
        line("failed", workload="w", reason="raised"),
        line("started", workload="v"),
        windowed=["w"],
    )

    assert conversation.finished == {"w"}
    assert not conversation.is_in_windows


@pytest.mark.parametrize(
    "lines",
    [
        pytest.param([WINDOWS], id="windows before the run"),
        pytest.param([run_line(), run_line()], id="two runs"),
        pytest.param([run_line(), WINDOWS, WINDOWS], id="windows twice"),
        pytest.param([run_line(), line("done")], id="no windows"),
    ],
)
def test_windows_out_of_order_are_garbage(lines):
    with pytest.raises(GarbageError, match="out of order"):
        talk(line("started", workload="w"), *lines, windowed=["w"])


@pytest.mark.parametrize(
    "lines",
    [
        pytest.param([run_line()], id="a result before its start"),
        pytest.param([line("sampling", workload="w")], id="samples before a start"),
        pytest.param([line("started", workload="x")], id="one that was not asked for"),
        pytest.param([line("failed", workload="x", reason="raised")], id="a stranger's failure"),
        pytest.param([line("started", workload="w")] * 2, id="started twice"),
        pytest.param(
            [line("started", workload="w"), line("started", workload="v")], id="two at once"
        ),
        pytest.param([line("started", workload="w"), run_line(), run_line()], id="two results"),
        pytest.param(
            [line("started", workload="w"), run_line(workload="v")], id="another's result"
        ),
        pytest.param([line("started", workload="w"), run_line(), WINDOWS], id="windows, unasked"),
        pytest.param([line("started", workload="w"), line("facts")], id="facts too late"),
        pytest.param([line("started", workload="w"), line("done")], id="done in the middle"),
        pytest.param([line("done"), line("done")], id="done twice"),
        pytest.param([line("broken", path="x.py")], id="a listing, unasked"),
    ],
)
def test_a_message_out_of_order_is_garbage(lines):
    with pytest.raises(GarbageError, match="out of order"):
        talk(*lines)


def test_only_a_child_that_is_to_fork_may_refuse_to():
    refusal = refusal_of("w", "v")

    assert talk(refusal, line("done"), is_forking=True).is_done
    with pytest.raises(GarbageError, match="'no_fork' out of order"):
        talk(refusal)


def test_a_child_may_refuse_for_one_file_and_run_another():
    lines = (line("started", workload="w"), run_line(), refusal_of("v"), line("done"))

    assert talk(*lines, is_forking=True).finished == {"w", "v"}


@pytest.mark.parametrize(
    "lines",
    [
        pytest.param([refusal_of("x")], id="one that was not asked for"),
        pytest.param([refusal_of("w"), refusal_of("w")], id="twice"),
        pytest.param([line("started", workload="w"), refusal_of("v")], id="in the middle"),
        pytest.param([refusal_of("w"), line("started", workload="w")], id="and runs it"),
        pytest.param([line("started", workload="w"), run_line(), refusal_of("w")], id="too late"),
    ],
)
def test_a_refusal_out_of_order_is_garbage(lines):
    with pytest.raises(GarbageError, match="out of order"):
        talk(*lines, is_forking=True)


def test_a_refusal_names_workloads():
    with pytest.raises(GarbageError):
        talk(refusal_of(), is_forking=True)


def test_a_listing_measures_nothing():
    with pytest.raises(GarbageError, match="'started' out of order"):
        talk(line("started", workload="w"), command=Command.LIST, workloads=())


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        pytest.param([line("turn", workload="w")], True, id="a turn"),
        pytest.param(
            [line("started", workload="w", log_bytes=0), line("ready", workload="v")], True
        ),
        pytest.param([line("ready", workload="w"), line("started", workload="w")], False),
        pytest.param([b"foreign"], False),
        pytest.param([], False, id="nothing"),
    ],
)
def test_a_child_waits_if_its_last_message_says_so(lines, expected):
    assert ends_with_stop(b"".join(each + b"\n" for each in lines)) is expected


def test_an_unfinished_message_is_none():
    turn = line("turn", workload="w")

    assert [ends_with_stop(turn + end) for end in (b"", b"\n", b"\n{")] == [False, True, False]


def ended(workload="w"):
    return line("ended", workload=workload, end_cost={"steps": 3, "cpu_s": 0.5})


STARTED = line("started", workload="w")


@pytest.mark.parametrize(
    "lines",
    [
        pytest.param((STARTED, run_line(), ended(), line("done")), id="of a fork"),
        pytest.param((STARTED, run_line(), line("done"), ended()), id="after the end"),
    ],
)
def test_the_end_of_a_process_follows_its_run(lines):
    assert talk(*lines).is_done


@pytest.mark.parametrize(
    ("lines", "command"),
    [
        pytest.param((STARTED, ended()), Command.MEASURE, id="before the run"),
        pytest.param((ended(),), Command.MEASURE, id="before its start"),
        pytest.param((STARTED, run_line(), ended("v")), Command.MEASURE, id="of another workload"),
        pytest.param((STARTED, line("counted", workload="w"), ended()), Command.COUNT, id="counts"),
    ],
)
def test_the_end_of_a_process_without_a_run_is_refused(lines, command):
    with pytest.raises(GarbageError, match="out of order"):
        talk(*lines, command=command)

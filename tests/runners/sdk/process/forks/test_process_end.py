"""What real children do after their steps: teardowns, exit functions and finalizers."""

import itertools
import math
import time
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from perfledger.meters.child_processes import ThreadTime
from perfledger.process.forks.process_end import OBSTACLE, ProcessEnd
from perfledger.protocol import Command, MessageType

WORK = """
import atexit, gc, time, weakref, perfledger
late = []
def work(rounds=400_000):
    began = time.process_time()
    while time.process_time() < began + 0.02:
        pass
class Late:
    __del__ = work
def finish(step=None):
    for each in late:
        work()
"""
AT_EXIT = "    atexit.register(finish)\n"


def workload(step: str, *, before: str = "", set_up: str = "", arguments: str = "") -> str:
    """Return a workload whose step has this expression."""
    return (
        f"{WORK}{before}\n@perfledger.workload({arguments})\n"
        f"def steps():\n{set_up}    return lambda: {step}\n"
    )


@pytest.fixture
def end_cost(write, run_child):
    def end_cost_of(text: str, **changes):
        answer = run_child(write({"benchmarks/b.py": text}), Command.MEASURE, **changes)
        return answer.of("ended")[-1]["end_cost"]

    return end_cost_of


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(workload("late.append(1)", set_up=AT_EXIT), id="an exit function"),
        pytest.param(
            workload("late.append(1)", arguments="teardown=finish, set_ups=2"), id="teardowns"
        ),
        pytest.param(workload("late.append(Late())"), id="finalizers"),
        pytest.param(
            workload("late.append(set()) or weakref.finalize(late[-1], work) and None"),
            id="weakref.finalize",
        ),
        pytest.param(
            workload(
                "late.append(1)",
                before="gc.disable()\ngc.callbacks.append(lambda phase, _: phase == 'stop' "
                "and [work(late.pop()) for _ in late[:]])",
            ),
            id="callbacks of the collector",
        ),
    ],
)
@pytest.mark.parametrize("is_forking", [True, False])
@pytest.mark.slow
def test_what_steps_leave_to_the_end_of_their_process_is_counted(end_cost, text, is_forking):
    cost = end_cost(text, is_forking=is_forking)

    assert cost["steps"] >= 3
    assert cost["cpu_s"] >= 0.02 * (cost["steps"] - 1)


@pytest.mark.slow
def test_processes_that_exit_functions_start_are_waited_for(end_cost):
    fork = "    atexit.register(lambda: os.fork() or (finish(), os._exit(0)))\n"
    text = workload("late.append(1)", before="import os", set_up=fork)

    cost = end_cost(text, is_forking=False)
    assert cost["cpu_s"] >= 0.02  # of one step at least: the wait is short, the machine may be busy


@pytest.mark.slow
def test_an_exit_function_that_ends_the_process_at_once_is_heard(end_cost):
    leave = "    atexit.register(lambda: (finish(), os._exit(0)))\n"
    text = workload("late.append(1)", before="import os", set_up=leave)

    cost = end_cost(text, is_forking=False)
    assert cost["cpu_s"] >= 0.02 * (cost["steps"] - 1)


@pytest.mark.slow
def test_a_sleep_at_the_end_is_counted_apart_from_work(end_cost):
    text = workload("late.append(1)", set_up="    atexit.register(lambda: time.sleep(0.3))\n")

    cost = end_cost(text, is_forking=False)
    assert cost["asleep_s"] >= 0.25
    assert cost["cpu_s"] < 0.25


@pytest.mark.slow
def test_threads_that_do_not_end_are_counted(end_cost):
    timer = "threading.Timer(600, work).start()"
    cost = end_cost(workload(timer, before="import threading"), is_forking=False)

    assert cost["tasks"] >= cost["steps"] - 1


@pytest.mark.slow
def test_a_process_whose_steps_leave_nothing_does_less_than_others_at_its_end(end_cost):
    cost = end_cost(workload("sum(range(10))"), is_forking=True)

    assert cost["cpu_s"] < 0.02 * (cost["steps"] - 1)


@pytest.mark.parametrize(
    "before",
    [
        pytest.param("atexit.register(finish)", id="an exit function"),
        pytest.param("kept = Late()", id="an object with a finalizer"),
        pytest.param("kept = set(); weakref.finalize(kept, work)", id="weakref.finalize"),
    ],
)
@pytest.mark.slow
def test_a_process_does_not_fork_after_imports_with_functions_for_its_end(write, run_child, before):
    text = workload("late.append(1)", before=before)
    answer = run_child(write({"benchmarks/b.py": text}), Command.MEASURE, is_forking=True)

    (refusal,) = answer.of("no_fork")
    assert refusal["reason"] == OBSTACLE


@pytest.mark.slow
def test_exit_functions_of_libraries_keep_no_process_from_forking(write, run_child):
    text = workload("None", before="import tempfile; folder = tempfile.TemporaryDirectory()")
    answer = run_child(write({"benchmarks/b.py": text}), Command.MEASURE, is_forking=True)

    assert len(answer.of("run")) == 1


def test_without_a_measured_workload_nothing_is_run_and_sent(tmp_path):
    ProcessEnd(tmp_path).finish(lambda *_: pytest.fail("nothing was measured"))


def script(monkeypatch, cpu_s, *, wall=lambda: 0.0, queued=lambda: 0.0):
    """Script the clocks, and leave this process its exit functions."""
    module = "perfledger.process.forks.process_end"
    clock = SimpleNamespace(monotonic=wall, sleep=lambda _: None)
    monkeypatch.setattr(f"{module}.time", clock)
    monkeypatch.setattr(f"{module}.queued_s", queued)
    monkeypatch.setattr(f"{module}.atexit", SimpleNamespace(_run_exitfuncs=int))
    monkeypatch.setattr(f"{module}.process_cpu_s", cpu_s)
    monkeypatch.setattr(f"{module}.other_threads_s", lambda: {1: ThreadTime(0.0, 0.0, "S")})


def test_a_time_that_is_not_known_is_not_sent(tmp_path, monkeypatch):
    monkeypatch.setattr(
        "perfledger.process.forks.process_end.atexit", SimpleNamespace(_run_exitfuncs=int)
    )
    monkeypatch.setattr("perfledger.process.forks.process_end.process_cpu_s", lambda: float("nan"))
    end = ProcessEnd(tmp_path)
    end.begin("w", steps=3)

    end.finish(lambda *_: pytest.fail("its time is unknown"))


def test_the_times_of_all_teardowns_are_added(tmp_path, monkeypatch):
    # A child whose time is lost counts as nothing.
    times = iter((1.0, 1.5, 2.0, 1.75, 3.0, 3.25, 4.0, 4.0))
    script(monkeypatch, lambda: next(times))
    end, sent = ProcessEnd(tmp_path), []

    with end.teardowns() as teardowns:
        teardowns.callback(time.time)
    end.close(teardowns)
    end.begin("w", steps=3)
    end.finish(lambda event, fields: sent.append((event, fields)))

    cost = {"steps": 3, "cpu_s": 0.75, "tasks": 1, "asleep_s": 0.0}
    assert sent == [(MessageType.ENDED, {"workload": "w", "end_cost": cost})]


@pytest.mark.parametrize(("queued_s", "asleep_s"), [(0.25, 0.5), (2.0, 0.0), (math.nan, 0.0)])
def test_a_thread_that_neither_computes_nor_waits_for_a_core_sleeps(
    tmp_path, monkeypatch, queued_s, asleep_s
):
    """One second passes between two readings, of which the process computes a quarter."""
    walls, cpus, waits = itertools.count(), itertools.count(step=0.25), itertools.count()
    script(
        monkeypatch,
        lambda: next(cpus),
        wall=lambda: float(next(walls)),
        queued=lambda: queued_s * next(waits),
    )
    end, sent = ProcessEnd(tmp_path), []
    end.begin("w", steps=3)

    with end.stopwatch():
        pass
    end.finish(lambda _, fields: sent.append(fields))

    # The wait for other threads is not a part of the sleep.
    cost = {"steps": 3, "cpu_s": 0.75, "tasks": 1, "asleep_s": 2 * asleep_s}
    assert sent == [{"workload": "w", "end_cost": cost}]


@pytest.mark.parametrize("share", [1.0, 0.25, 0.125])
def test_a_thread_that_never_stops_has_the_same_time_however_small_its_share_of_a_core_is(
    tmp_path, monkeypatch, share
):
    now = [0.0]
    script(monkeypatch, lambda: share * now[0], wall=lambda: now[0])
    module = "perfledger.process.forks.process_end"
    monkeypatch.setattr(f"{module}.time.sleep", lambda seconds: now.append(now.pop() + seconds))
    monkeypatch.setattr(f"{module}.other_threads_s", lambda: {1: ThreadTime(0.0, 0.0, "R")})
    sent: list[dict[str, float]] = []

    def send(_: str, fields: Any) -> None:
        sent.append(fields["end_cost"])

    end = ProcessEnd(tmp_path)
    end.begin("w", steps=3)
    end.finish(send)

    assert [cost["cpu_s"] for cost in sent] == [pytest.approx(0.5, abs=0.02)]


def test_a_process_that_ends_itself_is_reported_before_and_its_forks_are_not(tmp_path, monkeypatch):
    class Left(BaseException):
        """The process has ended."""

    def leave(_status):
        raise Left

    script(monkeypatch, itertools.count().__next__)
    module = "perfledger.process.forks.process_end"
    process = iter((1, 2, 1))  # of the function, of a fork that ends itself, of the process
    system = SimpleNamespace(_exit=leave, getpid=lambda: next(process), sep="/")
    monkeypatch.setattr(f"{module}.os", system)
    ends = []

    def exit_functions():
        for _ in range(2):
            try:
                system._exit(0)
            except Left:
                ends.append(len(sent))

    monkeypatch.setattr(f"{module}.atexit", SimpleNamespace(_run_exitfuncs=exit_functions))
    end, sent = ProcessEnd(tmp_path), []
    end.begin("w", steps=3)

    end.finish(lambda event, _: sent.append(event))

    assert ends == [0, 1]
    assert system._exit is leave


def test_the_figures_of_the_largest_rank_are_sent(tmp_path, monkeypatch):
    script(monkeypatch, lambda: 0.0)
    end, sent = ProcessEnd(tmp_path), []
    end.begin("w", steps=3)

    end.finish(lambda _, fields: sent.append(fields), largest=lambda cost: replace(cost, cpu_s=5.0))
    end.finish(lambda *_: pytest.fail("a rank has ended"), largest=lambda _: None)

    cost = {"steps": 3, "cpu_s": 5.0, "tasks": 1, "asleep_s": 0.0}
    assert sent == [{"workload": "w", "end_cost": cost}]

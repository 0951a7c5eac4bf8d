"""Real children run real steps, and say which of them call what a commit changed."""

from dataclasses import replace

import pytest

from perfledger.records import WorkloadSpec
from perfledger_runners.checkouts.git import git
from perfledger_runners.measuring.rounds.changed_calls import (
    NO_CALLS,
    changed_functions,
    find_changed_calls,
)

IDENTITY = ("-c", "user.name=A", "-c", "user.email=a@example.com")
MODULE = """LIMIT = 3


@property
def outer():
    first = 1

    def inner():
        return LIMIT

    return first, inner


async def other():
    return 2
"""


@pytest.fixture
def functions_of(tmp_path):
    """Return a function that commits two texts of a file and returns what changed in functions."""

    def read(base, head, path="model.py"):
        git(tmp_path, "init", "--quiet")
        hashes = []
        for text in (base, head):
            (tmp_path / path).write_text(text, encoding="utf-8")
            git(tmp_path, "add", "--all")
            git(tmp_path, *IDENTITY, "commit", "--quiet", "--message", "x")
            hashes.append(git(tmp_path, "rev-parse", "HEAD").decode().strip())
        first, second = hashes
        return changed_functions(tmp_path, first, second, [path], checkout=tmp_path)

    return read


@pytest.mark.parametrize(
    ("before", "after", "first_lines"),
    [
        ("        return LIMIT", "        return LIMIT + 1", [8]),
        ("    first = 1", "    first = 2", [4]),
        ("@property\n", "@cached\n", [4]),
        ("    return 2", "    return 3", [14]),
        ("    return first, inner\n", "", [8]),  # what precedes it is a function's end
        ("LIMIT = 3", "LIMIT = 4", [4, 8, 14]),  # a constant, for all of them
        ("LIMIT = 3", "LIMIT = (", []),  # no Python
    ],
)
def test_changed_functions_are_the_innermost_around_changed_lines(
    functions_of, before, after, first_lines
):
    functions = functions_of(MODULE, MODULE.replace(before, after))

    assert [first for first, _ in functions.get("model.py", ())] == first_lines


def test_only_python_files_have_functions(functions_of):
    assert functions_of("def f(): ...\n", "def f(): pass\n", path="model.txt") == {}


WORK = """
import threading
import perfledger

def changed():
    return 1

def same():
    return 2

def in_thread():
    thread = threading.Thread(target=changed)
    thread.start()
    thread.join()

@perfledger.workload(params={"size": (1, 2)})
def calls(size: int = 1):
    return changed

@perfledger.workload()
def sets_up():
    changed()
    return same

@perfledger.workload()
def threads():
    return in_thread

@perfledger.workload()
def fails():
    raise KeyError("weights")
"""
CHANGED = {"benchmarks/w.py": ((5, 6),)}


def spec(name, params=""):
    name_of = f"{name}[{params}]" if params else name
    return WorkloadSpec(id=f"benchmarks.w:{name_of}", module="benchmarks.w", function=name)


SPECS = (spec("sets_up"), spec("fails"), spec("calls", "size=1"), spec("calls", "size=2"))


@pytest.mark.slow
@pytest.mark.parametrize("is_forking", [True, False])
def test_workloads_whose_step_calls_a_changed_function_are_found(
    harness, request_for, write_benchmarks, tmp_path, is_forking
):
    request = replace(request_for(write_benchmarks(tmp_path, w=WORK)), is_forking=is_forking)

    calls = find_changed_calls(harness, request, (*SPECS, spec("threads")), CHANGED)

    assert calls.callers == (
        "benchmarks.w:calls[size=1]",
        "benchmarks.w:threads",
        "benchmarks.w:calls[size=2]",
    )
    assert set(calls.workloads) - calls.answers == {"benchmarks.w:fails"}
    assert calls.files == ("benchmarks/w.py",)


@pytest.mark.slow
def test_what_there_was_no_time_to_ask_begins_after_callers_of_the_same_function(
    harness, request_for, write_benchmarks, tmp_path
):
    text = WORK.replace("return changed\n", "return changed if size == 1 else missing\n")
    request = request_for(write_benchmarks(tmp_path, w=text))

    calls = find_changed_calls(harness, request, SPECS, CHANGED)

    assert calls.workloads == tuple(spec.id for spec in SPECS)  # the second parameter last
    assert calls.callers == ("benchmarks.w:calls[size=1]",)
    assert calls.probable == ("benchmarks.w:calls[size=2]",)
    assert calls.first == (*calls.callers, *calls.probable)
    reverse = find_changed_calls(harness, request, SPECS[::-1], CHANGED)
    assert reverse.workloads[-1] == "benchmarks.w:calls[size=1]"


def test_without_changed_functions_no_child_is_started(harness, request_for, tmp_path):
    request = request_for(tmp_path)

    assert find_changed_calls(harness, request, SPECS, {}) is NO_CALLS
    several = tuple(replace(each, devices=2) for each in SPECS)
    assert find_changed_calls(harness, request, several, CHANGED) is NO_CALLS


@pytest.mark.slow(ci_only=True)
def test_workloads_that_do_not_answer_in_their_time_are_slow(
    harness, hang, request_for, write_benchmarks, tmp_path
):
    text = hang + WORK.replace('    raise KeyError("weights")', "    return hang")
    request = request_for(write_benchmarks(tmp_path, w=text))
    shift = hang.count("\n")
    changed = dict.fromkeys(CHANGED, ((5 + shift, 6 + shift),))

    calls = find_changed_calls(harness, request, SPECS, changed)

    assert calls.slow == {"benchmarks.w:fails"}
    assert calls.callers == ("benchmarks.w:calls[size=1]", "benchmarks.w:calls[size=2]")

"""Whatever a workload does to its process, it gets a reason of its own and costs nobody else.

All children here are real.
"""

import os
import signal
from collections.abc import Mapping
from contextlib import closing, suppress
from dataclasses import replace
from itertools import chain
from pathlib import Path

import pytest

from perfledger.protocol import Command
from perfledger.records import FailureReason
from perfledger_runners.children.child import MAX_LOG_BYTES, Child
from perfledger_runners.children.child_process import ChildExit, run_child, run_request
from perfledger_runners.children.process_tree import members
from perfledger_runners.children.protocol_parser import FailedMessage, RunMessage
from tests.suite.tries import IS_CI

pytestmark = pytest.mark.slow

PREAMBLE = """
import ctypes, os, random, signal, sys, time
eaten = []
def everywhere(words, times=1):
    for number in range(3, 1024):
        for _ in range(times):
            try:
                os.write(number, words)
            except OSError:
                break
@perfledger.workload()
def fine_first():
    return lambda: sum(range(100))
"""
PAIR = """
@perfledger.workload()
def {name}():
    def step():
        {body}
    return step
@perfledger.workload()
def fine_after_{name}():
    return lambda: sum(range(100))
"""
# What a step does, and the reason that it is to get.
MISBEHAVIOUR: Mapping[str, tuple[str, FailureReason]] = {
    "raises": ("raise KeyError('no such weight')", FailureReason.RAISED),
    "says_goodbye": ("sys.exit('goodbye')", FailureReason.RAISED),
    "leaves_at_once": ("print('my last words', flush=True); os._exit(3)", FailureReason.RAISED),
    "leaves_as_if_well": ("os._exit(0)", FailureReason.RAISED),
    "closes_everything": ("os.closerange(3, 1024)", FailureReason.RAISED),
    "hangs": ("hang()", FailureReason.HUNG),
    "eats_memory": (
        "eaten.extend(b'x' * 2**24 for _ in range(40)); signal.pause()",
        FailureReason.OUT_OF_MEMORY,
    ),
    "runs_out_of_memory": ("raise MemoryError", FailureReason.OUT_OF_MEMORY),
    "is_killed": ("os.kill(os.getpid(), signal.SIGKILL)", FailureReason.KILLED),
    "gets_an_unnamed_signal": ("os.kill(os.getpid(), signal.SIGRTMIN + 1)", FailureReason.KILLED),
    "crashes": ("ctypes.string_at(0)", FailureReason.KILLED),
    "ends_its_group": ("os.killpg(0, signal.SIGTERM)", FailureReason.KILLED),
    "writes_everywhere": ("everywhere(b'progress: 10 %\\n')", FailureReason.GARBAGE),
    "writes_without_end": ("everywhere(b'x' * 4096, times=1200)", FailureReason.GARBAGE),
    "forges": ('everywhere(b\'{"version": 2, "event": "done"}\\n\')', FailureReason.GARBAGE),
}
# What a step may do: it is measured all the same.
ODDITY: Mapping[str, str] = {
    "prints": 'print(\'{"event": "run"}\' * 9); os.write(2, bytes(range(256)))',
    "prints_without_end": "os.write(1, b'x' * (MAX_LOG_BYTES // 2))",
    "forks_a_sleeper": "os.fork() or time.sleep(600)",
    "forks_and_returns_twice": "os.fork()",
    "daemonizes": "os.fork() or (os.setsid(), time.sleep(600))",
    "changes_folder": "os.chdir('/')",
    "changes_random_state": "random.seed(0)",
    "changes_environment": "os.environ.clear()",
    "closes_its_output": "os.closerange(1, 3)",
    "writes_large_files": "os.truncate(os.open('large', os.O_CREAT | os.O_RDWR), 2**33)",
}


def workload_of(name):
    return f"benchmarks.odd:{name}"


@pytest.fixture(scope="module")
def outcome(make_harness, hang, write_benchmarks, request_for, tmp_path_factory):
    """Run them all in one request, in CI a good one after each; return the messages."""
    bodies = {name: body for name, (body, _) in MISBEHAVIOUR.items()} | dict(ODDITY)
    text = hang + PREAMBLE + f"MAX_LOG_BYTES = {MAX_LOG_BYTES}\n"
    text += "".join(PAIR.format(name=name, body=body) for name, body in bodies.items())
    folder = tmp_path_factory.mktemp("checkout")
    root = write_benchmarks(folder, odd=text)
    good = [f"fine_after_{name}" if IS_CI else "fine_first" for name in bodies]
    names_to_run = list(dict.fromkeys(["fine_first", *chain(*zip(bodies, good, strict=True))]))
    request = request_for(root, [workload_of(name) for name in names_to_run])
    with make_harness(folder, memory_bytes=300 * 2**20) as harness:
        return tuple(run_request(harness, request))


def failures(outcome):
    return {each.workload: each for each in outcome if isinstance(each, FailedMessage)}


@pytest.mark.slow(ci_only=True)
def test_the_good_ones_around_them_keep_their_results(outcome):
    runs = {each.workload for each in outcome if isinstance(each, RunMessage)}

    good = {f"fine_after_{name}" for name in (*MISBEHAVIOUR, *ODDITY)} | {"fine_first"}
    assert {workload_of(name) for name in good} <= runs


@pytest.mark.parametrize("name", MISBEHAVIOUR)
def test_each_misbehaviour_has_its_own_reason(outcome, name):
    assert failures(outcome)[workload_of(name)].reason is MISBEHAVIOUR[name][1]


@pytest.mark.parametrize("name", ODDITY)
def test_an_oddity_is_measured_all_the_same(outcome, name):
    assert workload_of(name) not in failures(outcome)
    assert any(
        isinstance(each, RunMessage) and each.workload == workload_of(name) for each in outcome
    )


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("raises", "KeyError: 'no such weight' (benchmarks/odd.py:"),
        ("leaves_at_once", "exit status 3 before it was done: my last words"),
        ("leaves_as_if_well", "exit status 0 before it was done"),
        ("hangs", "it did not end within 1,800 s while setting up or warming up"),
        ("eats_memory", f"the limit is {300 * 2**20}"),
        ("is_killed", "SIGKILL: probably the out-of-memory killer"),
        ("gets_an_unnamed_signal", f"signal {signal.SIGRTMIN + 1}: "),
        ("crashes", "SIGSEGV"),
        ("ends_its_group", "SIGTERM"),
        ("writes_everywhere", "foreign output on perfledger's descriptor: 'progress: 10 %'"),
        ("writes_without_end", "than the harness writes"),
        ("forges", "'done' out of order"),
    ],
)
def test_the_reason_says_what_happened(outcome, name, words):
    assert words in failures(outcome)[workload_of(name)].detail


def test_the_end_of_what_was_printed_is_kept(outcome):
    logs = [each.log_tail for each in outcome if isinstance(each, ChildExit)]

    assert any("my last words" in log for log in logs)
    assert max(map(len, logs)) <= 16 * 1024
    assert not any("\x00" in log for log in logs)


def daemons_of(child: Child) -> list[int]:
    """Return the processes that left the session of a child."""
    left = []
    for process in members(child.process_id, child.mark):
        with suppress(ProcessLookupError):
            if os.getsid(process) != child.process_id:
                left.append(process)
    return left


@pytest.mark.slow(ci_only=True)
def test_nothing_that_was_started_lives_on(harness, write_benchmarks, request_for, tmp_path):
    body = f"{ODDITY['daemonizes']}; time.sleep(600)"
    root = write_benchmarks(
        tmp_path / "checkout", odd=PREAMBLE + PAIR.format(name="odd", body=body)
    )
    child = Child(harness, request_for(root, [workload_of("odd")]))
    while not daemons_of(child):
        assert not child.has_exited()
        child.read()

    child.close()

    assert members(child.process_id, child.mark) == ()


@pytest.mark.slow(ci_only=True)
def test_a_reader_that_loses_interest_ends_the_child(
    harness, hang, write_benchmarks, request_for, tmp_path
):
    text = hang + PREAMBLE + PAIR.format(name="hangs", body=MISBEHAVIOUR["hangs"][0])
    root = write_benchmarks(tmp_path / "checkout", odd=text)
    with closing(run_child(harness, request_for(root, [workload_of("hangs")]))) as messages:
        next(messages)

    folders = {str(path) for path in harness.folder.glob("child-*")}
    commands = [
        path.read_bytes().decode(errors="replace") for path in Path("/proc").glob("[0-9]*/cmdline")
    ]
    assert folders
    assert not any(folder in command for folder in folders for command in commands)


@pytest.mark.slow(ci_only=True)
def test_a_workload_that_is_not_there_is_missing(harness, write_benchmarks, request_for, tmp_path):
    root = write_benchmarks(tmp_path / "checkout", odd=PREAMBLE)
    request = request_for(root, [workload_of("renamed"), workload_of("fine_first")])

    messages = tuple(run_request(harness, request))

    assert failures(messages)[workload_of("renamed")].reason is FailureReason.MISSING
    assert any(isinstance(each, RunMessage) for each in messages)


def test_one_that_dies_before_any_workload_takes_all_with_it(
    harness, write_benchmarks, request_for, tmp_path
):
    root = write_benchmarks(tmp_path / "checkout", odd=PREAMBLE + "os._exit(7)\n")
    texts = [workload_of("fine_first"), workload_of("another")]

    messages = tuple(run_request(harness, request_for(root, texts, is_forking=True)))

    outcomes = failures(messages)
    assert {each: outcomes[each].reason for each in texts} == dict.fromkeys(
        texts, FailureReason.RAISED
    )
    assert "exit status 7" in outcomes[texts[0]].detail
    assert sum(isinstance(each, ChildExit) for each in messages) == 1


@pytest.mark.slow(ci_only=True)
def test_one_that_dies_between_two_workloads_is_started_again_for_the_second(
    harness, write_benchmarks, request_for, tmp_path
):
    # The first time round, a timer ends the process while it does nothing of its own.
    text = PREAMBLE + (
        "class Last:\n"
        "    def __del__(self):\n"
        "        os.path.exists('done') or (open('done', 'w').close(), os._exit(9))\n"
        "@perfledger.workload()\n"
        "def a():\n"
        "    last = Last()\n"
        "    return lambda: last\n"
    )
    root = write_benchmarks(tmp_path / "checkout", odd=text)
    texts = [workload_of("a"), workload_of("fine_first")]

    messages = tuple(run_request(harness, request_for(root, texts)))

    settled_workloads = {
        each.workload for each in messages if isinstance(each, RunMessage | FailedMessage)
    }
    assert settled_workloads == set(texts)
    assert workload_of("fine_first") not in failures(messages)


def test_one_that_ends_well_without_a_word_about_a_workload_has_not_measured_it(
    scripted, request_for, tmp_path
):
    silent = scripted({"event": "done"})

    messages = tuple(run_request(silent, request_for(tmp_path, ["m:w"])))

    assert (
        failures(messages)["m:w"].detail
        == "its process ended without an error and without a result"
    )
    assert isinstance(messages[-1], ChildExit)


def test_an_interpreter_that_cannot_be_started_is_a_reason(harness, request_for, tmp_path):
    broken = replace(harness, python=tmp_path / "no-python")

    messages = tuple(run_request(broken, request_for(tmp_path, ["m:w"])))

    assert failures(messages)["m:w"].reason is FailureReason.PYTHON
    assert "cannot be started" in failures(messages)["m:w"].detail


def test_a_listing_that_hangs_has_the_time_that_starting_up_may_take(
    harness, hang, write_benchmarks, request_for, tmp_path
):
    root = write_benchmarks(tmp_path / "checkout", odd=hang + "hang()\n")

    messages = tuple(run_child(harness, request_for(root, command=Command.LIST)))

    assert (
        failures(messages)[""].detail
        == "it did not end within 1,800 s while importing benchmarks/odd.py"
    )


@pytest.mark.slow(ci_only=True)
def test_a_failure_that_names_a_withheld_variable_says_how_to_pass_it_on(
    harness, write_benchmarks, request_for, tmp_path
):
    text = (
        "import os\n@perfledger.workload()\ndef w():\n"
        "    os.environ['WANDB_API_KEY']\n"
        "@perfledger.workload()\ndef v():\n"
        "    raise RuntimeError('no account')\n"
    )
    root = write_benchmarks(tmp_path / "checkout", odd=text)
    secret = {"WANDB_API_KEY": "canary", "GITHUB_TOKEN": "canary"}
    poor = replace(harness, environment=harness.environment | secret)
    ids = [workload_of("w"), workload_of("v")]

    messages = tuple(run_request(poor, request_for(root, ids)))

    named, unnamed = (failures(messages)[each] for each in ids)
    assert named.detail.endswith(
        "WANDB_API_KEY is set here but not passed on: add it to `env` in perfledger.toml"
    )
    assert unnamed.detail == "RuntimeError: no account (benchmarks/odd.py:8)"
    ended = messages[-1]
    for text in (ended.log_tail, *ended.own_tails.values(), ended.withheld):
        assert "not passed on: " in text
        assert "WANDB_API_KEY" in text
        assert "GITHUB_TOKEN" not in text
        assert "canary" not in text


def test_nothing_is_said_about_variables_where_nothing_fails(
    harness, write_benchmarks, request_for, tmp_path
):
    text = "@perfledger.workload()\ndef w():\n    return lambda: None\n"
    root = write_benchmarks(tmp_path / "checkout", odd=text)
    poor = replace(harness, environment=harness.environment | {"HF_TOKEN": "canary"})

    *_, ended = run_request(poor, request_for(root, [workload_of("w")]))

    assert (ended.withheld, ended.log_tail) == ("", "")


def test_no_child_is_started_when_the_budget_is_spent(harness, request_for, tmp_path):
    spent = replace(harness, ends_at=harness.clock())
    request = request_for(tmp_path, ("m:f", "m:g"))

    messages = list(run_request(spent, request))

    failures = [each for each in messages if isinstance(each, FailedMessage)]
    assert {each.workload: each.reason for each in failures} == dict.fromkeys(
        ("m:f", "m:g"), FailureReason.BUDGET
    )
    assert not list(harness.folder.glob("child-*"))


@pytest.mark.slow(ci_only=True)
def test_a_hanging_step_ends_with_the_budget(
    harness, request_for, write_benchmarks, hang, tmp_path
):
    root = write_benchmarks(
        tmp_path / "head", w=f"{hang}@perfledger.workload()\ndef a():\n    return hang\n"
    )
    # The clock runs ahead once the step hangs, past the budget before the workload's own limit.
    spent = replace(harness, ends_at=harness.clock() + harness.limits.workload_s / 2)

    messages = list(run_request(spent, request_for(root, ("benchmarks.w:a",))))

    (failure,) = [each for each in messages if isinstance(each, FailedMessage)]
    assert failure.reason is FailureReason.BUDGET
    assert failure.detail == "the budget ended it while setting up or warming up"

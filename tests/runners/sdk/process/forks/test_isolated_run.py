"""Real children whose workloads run in forks, and what one of them leaves to the next."""

import signal
from pathlib import Path

import pytest

from perfledger.protocol import Command

HEADER = "import atexit, os, random, signal, tempfile, threading, time, perfledger\n"


def benchmark(**bodies: str) -> str:
    """Return workloads of these bodies, with a module's state before them."""
    functions = (
        f"@perfledger.workload\ndef {name}():\n    {body}\n    return lambda: None\n"
        for name, body in bodies.items()
    )
    return HEADER + "KEPT = {}\n" + "".join(functions)


@pytest.fixture
def measured(write, run_child):
    def measure(text: str, **changes):
        return run_child(
            write({"benchmarks/b.py": text}), Command.MEASURE, is_forking=True, **changes
        )

    return measure


LEFT = {
    "KEPT['cache'] = 1": "assert not KEPT",
    "os.environ['LEFT'] = '1'": "assert 'LEFT' not in os.environ",
    "os.chdir('/')": "assert os.getcwd() != '/'",
    "random.seed(1)": "assert random.random() != random.Random(1).random()",
    "threading.Thread(target=time.sleep, args=(600,)).start()": (
        "assert threading.active_count() == 1"
    ),
    "import decimal; decimal.getcontext().prec = 3": (
        "import decimal; assert decimal.getcontext().prec == 28"
    ),
    "signal.alarm(600)": "assert signal.alarm(0) == 0",
    "os.fork() or time.sleep(600)": "assert not os.listdir(f'/proc/{os.getppid()}/task')[1:]",
}


@pytest.mark.slow
def test_nothing_that_a_workload_leaves_reaches_the_next_one(measured):
    """Each looks for what the others before it have left."""
    bodies: dict[str, str] = {}
    for number, (leave, look) in enumerate(LEFT.items()):
        bodies[f"w{number}_looks"] = "; ".join([look, *list(LEFT.values())[:number]])
        bodies[f"w{number}_leaves"] = leave
    answer = measured(benchmark(**bodies))

    failed = {each["workload"]: each["detail"] for each in answer.of("failed")}
    assert failed == {}
    assert [each["workload"].partition(":")[2] for each in answer.of("run")] == list(bodies)


@pytest.mark.slow
def test_memory_of_a_workload_is_not_the_next_ones(measured):
    answer = measured(
        benchmark(before="pass", keeps="KEPT['rows'] = bytearray(b'1' * 200_000_000)", after="pass")
    )
    before, keeps, after = (each["samples"]["peak_memory"][0] for each in answer.of("run"))

    assert keeps > before + 190_000_000
    assert after < 1.1 * before


@pytest.mark.slow
def test_peak_memory_is_what_it_is_without_a_fork(write, run_child):
    text = "import sqlite3, ssl, xml.etree.ElementTree\n" + benchmark(work="pass")
    root = write({"benchmarks/b.py": text})
    forked, alone = (
        run_child(root, Command.MEASURE, is_forking=is_forking).of("run")[0]["samples"]
        for is_forking in (True, False)
    )

    assert forked["peak_memory"][0] == pytest.approx(alone["peak_memory"][0], rel=0.1)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("lines", "status"),
    [
        ("os._exit(3)", 3),
        ("os._exit(0)", 0),
        ("os.kill(os.getpid(), signal.SIGKILL)", -signal.SIGKILL),
        ("os.kill(os.getpid(), signal.SIGTERM)", -signal.SIGTERM),
        ("import ctypes; ctypes.string_at(0)", -signal.SIGSEGV),
    ],
)
def test_a_child_ends_as_its_fork_does(measured, lines, status):
    answer = measured(benchmark(dies=lines, never="pass"))

    assert answer.status == status
    assert answer.messages[-1]["event"] == "started"
    assert answer.messages[-1]["workload"] == "benchmarks.b:dies"


@pytest.mark.slow
def test_a_fork_runs_its_own_exit_functions_and_the_child_those_of_its_imports(measured):
    text = HEADER + (
        "FOLDER = tempfile.TemporaryDirectory()\n"
        "exec(compile(\"atexit.register(print, 'end of the child')\", '/library.py', 'exec'))\n"
        "for name in ('one', 'two'):\n"
        "    def work(name=name):\n"
        "        assert os.path.isdir(FOLDER.name)\n"
        "        mine = work.folder = tempfile.TemporaryDirectory()\n"
        "        print(mine.name)\n"
        "        atexit.register(lambda: print('end of', name))\n"
        "        return lambda: None\n"
        "    work.__name__ = work.__qualname__ = name\n"
        "    globals()[name] = perfledger.workload(work)\n"
    )
    answer = measured(text)

    lines = answer.stdout.split("\n")
    assert [each for each in lines if each.startswith("end")] == [
        "end of one",
        "end of two",
        "end of the child",
    ]
    folders = [Path(each) for each in lines if each.startswith("/")]
    assert len(folders) == 2
    assert not any(folder.exists() for folder in folders)


@pytest.mark.slow
def test_warnings_about_threads_and_forks_do_not_end_it(measured, monkeypatch):
    monkeypatch.setenv("PYTHONWARNINGS", "error")
    answer = measured(benchmark(one="pass", two="pass"))

    assert len(answer.of("run")) == 2
    assert answer.status == 0

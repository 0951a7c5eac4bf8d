"""Commands run in this process on a repository on disk, answered through a real pipe."""

import os
import sys
from pathlib import Path

import pytest

from perfledger.measuring.core_use import TOO_SHORT
from perfledger.protocol import PROTOCOL_VERSION, Command
from perfledger.records import FailureReason

FINE = """
import perfledger
@perfledger.workload(unit="items", units_per_step=3)
def fine():
    return lambda: sum(range(10))
"""
BUSY = """
import time
import perfledger
@perfledger.workload()
def busy():
    def step():
        until = time.process_time() + 0.02
        while time.process_time() < until:
            pass
    return step
"""
HEADER = "import perfledger\n"
TRIES = 200  # so many in a row beside a pause of the machine are no chance
GRID = (
    HEADER
    + """
@perfledger.workload(params={"size": [10, 20]})
def grid(size=5, device="unknown"):
    assert device == "cpu", device
    return lambda: sum(range(size))
"""
)


def workload(body, *, name="work", arguments=""):
    lines = "\n".join(f"    {line}" for line in body.splitlines())
    return f"{HEADER}@perfledger.workload({arguments})\ndef {name}():\n{lines}\n"


def test_a_list_is_the_files_then_the_facts_then_the_workloads_then_done(write, send_command):
    answer = send_command(write({"benchmarks/fine.py": FINE}), Command.LIST)

    assert [each["event"] for each in answer.messages] == ["importing", "facts", "workload", "done"]
    assert answer.of("workload")[0] == {
        "version": PROTOCOL_VERSION,
        "event": "workload",
        "id": "benchmarks.fine:fine",
        "module": "benchmarks.fine",
        "function": "fine",
        "params": {},
        "unit": "items",
        "units_per_step": 3.0,
        "device": "auto",
        "framework": "host",
        "timeout": None,
        "tags": [],
        "margin": None,
        "metrics": [],
        "devices": 1,
        "launch": "",
        "variant": "",
        "file": "benchmarks.fine",
        "path": "benchmarks/fine.py",
        "registrar": "benchmarks.fine",
    }


def test_a_broken_file_is_listed_beside_the_workloads(write, send_command):
    root = write({"benchmarks/bad.py": "raise ValueError('boom')", "benchmarks/fine.py": FINE})

    answer = send_command(root, Command.LIST)

    (broken,) = answer.of("broken")
    assert broken["path"] == "benchmarks/bad.py"
    assert broken["detail"] == "ValueError: boom (benchmarks/bad.py:1)"
    assert len(answer.of("workload")) == 1


def test_the_configurations_values_make_the_grid(write, send_command):
    root = write({"benchmarks/grid.py": GRID})
    params = {"benchmarks.grid:grid": {"size": (1, 2, 3)}}

    answer = send_command(root, Command.LIST, params=params)

    ids = [each["id"] for each in answer.of("workload")]
    assert ids == [f"benchmarks.grid:grid[size={n}]" for n in (1, 2, 3)]


def test_a_parameter_that_does_not_exist_is_said_and_the_others_are_listed(write, send_command):
    root = write({"benchmarks/grid.py": GRID, "benchmarks/fine.py": FINE})

    answer = send_command(root, Command.LIST, params={"benchmarks.grid:grid": {"sise": (1,)}})

    (broken,) = answer.of("broken")
    assert broken["path"] == "benchmarks/grid.py"
    assert "has no parameter 'sise'; its parameters: size" in broken["detail"]
    assert [each["id"] for each in answer.of("workload")] == ["benchmarks.fine:fine"]


def test_a_measurement_is_started_then_sampling_then_a_run(write, send_command):
    answer = send_command(write({"benchmarks/fine.py": FINE}), Command.MEASURE)

    events = [each["event"] for each in answer.messages]
    assert events == ["started", "sampling", "run", "done"]


def test_a_run_holds_the_samples_and_keeps_warm_ups_apart(write, send_command):
    answer = send_command(write({"benchmarks/fine.py": FINE}), Command.MEASURE)

    run = answer.about("benchmarks.fine:fine")
    assert len(run["samples"]["step_time_p50"]) == 2
    assert len(run["warmups_s"]) == 1
    assert len(run["samples"]["peak_memory"]) == 1
    assert run["samples"]["peak_memory"][0] > 1_000_000
    assert 0 < run["samples"]["cpu_active"][0] <= 1
    assert run["started_at"].endswith("+00:00")
    assert run["left_out"] == {TOO_SHORT: 1}
    assert "cpu_time" not in run["samples"]
    assert "flops_per_step" not in run["samples"]


@pytest.mark.slow(ci_only=True)
def test_a_run_on_a_cpu_has_its_cpu_time_and_the_wait_for_a_core(write, send_command):
    root = write({"benchmarks/busy.py": BUSY})
    tried = (send_command(root, Command.MEASURE) for _ in range(TRIES))
    runs = (answer.about("benchmarks.busy:busy") for answer in tried)

    # A pause of the whole machine between two steps is time that no step took.
    run = next(run for run in runs if TOO_SHORT not in run["left_out"])
    (cpu_s,) = run["samples"]["cpu_time"]
    assert cpu_s >= 0.02
    assert run["left_out"] == {}
    times = run["core_times"]
    assert times.pop("cores") >= 1
    assert {name: len(readings) for name, readings in times.items()} == {
        "elapsed_s": 1,
        "queued_s": 1,
        "helpers_s": 1,
        "helper_waits_s": 1,
        "unseen_waits_s": 1,
    }
    assert times["elapsed_s"][0] >= 0.02


@pytest.mark.slow(ci_only=True)
def test_workloads_run_in_the_order_asked_for_and_are_told_their_device(write, send_command):
    wanted_texts = ("benchmarks.grid:grid[size=20]", "benchmarks.grid:grid[size=10]")

    answer = send_command(
        write({"benchmarks/grid.py": GRID}), Command.MEASURE, workloads=wanted_texts
    )

    assert tuple(each["workload"] for each in answer.of("run")) == wanted_texts


def test_only_the_files_that_are_needed_are_imported(write, send_command):
    root = write({"benchmarks/fine.py": FINE, "benchmarks/other.py": "raise ValueError"})

    answer = send_command(root, Command.MEASURE, workloads=("benchmarks.fine:fine",))

    assert len(answer.of("run")) == 1
    assert "benchmarks.other" not in sys.modules


def test_a_workload_that_another_file_registers_is_found(write, send_command):
    root = write(
        {
            "mine/tasks.py": "def task():\n    return lambda: None\n",
            "benchmarks/all.py": HEADER
            + "from mine.tasks import task\nperfledger.workload()(task)\n",
        }
    )

    answer = send_command(root, Command.MEASURE, workloads=("mine.tasks:task",))

    assert answer.about("mine.tasks:task")["event"] == "run"


def test_a_workload_that_is_not_registered_is_missing(write, send_command):
    root = write({"benchmarks/fine.py": FINE, "benchmarks/bad.py": "raise ValueError"})

    answer = send_command(root, Command.MEASURE, workloads=("benchmarks.fine:gone",))

    failed = answer.about("benchmarks.fine:gone")
    assert (failed["event"], failed["reason"]) == ("failed", FailureReason.MISSING)
    assert "no workload 'benchmarks.fine:gone' is registered" in failed["detail"]


def test_a_workload_whose_file_is_broken_says_so(write, send_command):
    root = write({"benchmarks/fine.py": FINE, "benchmarks/bad.py": "raise ValueError('boom')"})
    wanted_texts = ("benchmarks.bad:work", "benchmarks.fine:fine")

    answer = send_command(root, Command.MEASURE, workloads=wanted_texts)

    failed = answer.about("benchmarks.bad:work")
    assert failed["reason"] == FailureReason.RAISED
    assert failed["detail"] == "benchmarks/bad.py: ValueError: boom (benchmarks/bad.py:1)"
    assert answer.about("benchmarks.fine:fine")["event"] == "run"


def test_a_repository_with_a_package_named_like_ours_fails_as_a_whole(write, send_command):
    root = write({"benchmarks/fine.py": FINE, "perfledger/__init__.py": ""})

    answer = send_command(root, Command.MEASURE, workloads=("benchmarks.fine:fine",))

    failed = answer.about("benchmarks.fine:fine")
    assert failed["reason"] == FailureReason.WRONG_CODE
    assert "your repository has a package named perfledger" in failed["detail"]


FAILING = {
    "set_up_raises": ("raise ValueError('boom')", "raised", "ValueError: boom"),
    "step_raises": (
        "def step():\n    raise ValueError('late')\nreturn step",
        "raised",
        "ValueError: late (benchmarks/step_raises.py:5)",
    ),
    "exits": ("raise SystemExit(0)", "raised", "SystemExit: 0"),
    "interrupts": ("raise KeyboardInterrupt", "raised", "KeyboardInterrupt"),
    "out_of_memory": ("raise MemoryError", "out of memory", "MemoryError"),
    "cuda_memory": ("raise RuntimeError('CUDA out of memory.')", "out of memory", "CUDA"),
    "no_step": ("return 5", "raised", "returned 5: return the step"),
    "async_step": ("async def step(): pass\nreturn step", "raised", "a plain function"),
    "generator_step": ("def step(): yield 1\nreturn step", "raised", "a plain function"),
    "step_with_argument": ("return lambda n: n", "raised", "missing 1 required"),
}


@pytest.mark.slow(ci_only=True)
def test_a_workload_that_fails_says_why_and_the_next_is_measured(write, send_command):
    bad = {f"benchmarks/{name}.py": workload(body) for name, (body, *_) in FAILING.items()}
    fine = {f"benchmarks/{name}_then.py": FINE for name in FAILING}

    answer = send_command(write(bad | fine), Command.MEASURE)

    for name, (_, reason, detail) in FAILING.items():
        failed = answer.about(f"benchmarks.{name}:work")
        assert (failed["event"], failed["reason"]) == ("failed", reason), name
        assert detail in failed["detail"]
        assert answer.about(f"benchmarks.{name}_then:fine")["event"] == "run"


def test_a_traceback_goes_to_the_log(write, send_command, capsys):
    send_command(
        write({"benchmarks/bad.py": workload("raise ValueError('boom')")}), Command.MEASURE
    )

    assert "ValueError: boom" in capsys.readouterr().err


def test_a_closed_standard_error_is_no_reason_to_fail(write, send_command, monkeypatch):
    root = write({"benchmarks/bad.py": workload("raise ValueError('boom')")})
    closed = open(os.devnull, "w")  # noqa: PTH123, SIM115 - it is to be closed
    closed.close()
    monkeypatch.setattr(sys, "stderr", closed)
    monkeypatch.setattr(sys, "stdout", closed)

    answer = send_command(root, Command.MEASURE)

    assert answer.about("benchmarks.bad:work")["reason"] == "raised"
    assert answer.of("done")


def test_what_a_file_sets_at_import_stays(write, send_command, monkeypatch):
    monkeypatch.setenv("FLAGS", "none")
    text = "import os\nos.environ['FLAGS'] = 'mine'\nos.chdir('/')\n"
    look = "import os\nassert os.environ['FLAGS'] == 'mine'\nreturn lambda: None"
    root = write({"benchmarks/a.py": text + workload(look)})

    answer = send_command(root, Command.MEASURE)

    assert answer.about("benchmarks.a:work")["event"] == "run", answer.messages
    assert Path.cwd() == root


@pytest.mark.slow(ci_only=True)
def test_code_of_the_users_own_checkout_is_not_measured(write, send_command, tmp_path):
    write({"repository/src/mylib_w/__init__.py": "", "tree/benchmarks/a.py": ""})
    body = "import mylib_w\nreturn lambda: None"
    write({"tree/benchmarks/a.py": workload(body), "tree/benchmarks/fine.py": FINE})
    sys.path.append(str(tmp_path / "repository/src"))  # as an editable install does

    answer = send_command(
        tmp_path / "tree", Command.MEASURE, repository=str(tmp_path / "repository")
    )

    failed = answer.about("benchmarks.a:work")
    assert failed["reason"] == FailureReason.WRONG_CODE
    assert "module 'mylib_w' was imported from" in failed["detail"]


@pytest.mark.slow(ci_only=True)
def test_the_measured_revisions_own_copy_comes_before_an_editable_install(
    write, send_command, tmp_path
):
    library = {"src/mylib_x/__init__.py": ""}
    write({f"repository/{name}": text for name, text in library.items()})
    write({f"tree/{name}": text for name, text in library.items()})
    write({"tree/benchmarks/a.py": workload("import mylib_x\nreturn lambda: None")})
    sys.path.append(str(tmp_path / "repository/src"))

    answer = send_command(
        tmp_path / "tree", Command.MEASURE, repository=str(tmp_path / "repository")
    )

    assert answer.about("benchmarks.a:work")["event"] == "run"


@pytest.mark.parametrize(
    ("arguments", "requested", "detail"),
    [
        pytest.param("device='cuda'", "cpu", "registered for 'cuda' and this check requests 'cpu'"),
        pytest.param("device='cuda'", "auto", "uses neither torch nor JAX"),
        pytest.param("", "tpu", "uses neither torch nor JAX"),
    ],
)
def test_a_device_that_is_not_to_be_had_is_said(write, send_command, arguments, requested, detail):
    body = workload("return lambda: None", arguments=arguments)

    answer = send_command(write({"benchmarks/a.py": body}), Command.MEASURE, device=requested)

    failed = answer.about("benchmarks.a:work")
    assert failed["reason"] == FailureReason.NO_DEVICE
    assert detail in failed["detail"]


def test_profiling_plain_python_is_an_answer_without_a_trace(write, send_command, tmp_path):
    folder = tmp_path / "traces"

    answer = send_command(
        write({"benchmarks/fine.py": FINE}), Command.PROFILE, trace_folder=str(folder)
    )

    profile = answer.about("benchmarks.fine:fine")
    assert profile["event"] == "profiled"
    assert (profile["tool"], profile["trace"], profile["steps"]) == ("", "", 0)
    assert folder.is_dir()


def test_a_failing_workload_fails_its_profile_too(write, send_command, tmp_path):
    root = write({"benchmarks/bad.py": workload("raise ValueError('boom')")})

    answer = send_command(root, Command.PROFILE, trace_folder=str(tmp_path / "traces"))

    assert answer.about("benchmarks.bad:work")["reason"] == FailureReason.RAISED


@pytest.mark.slow(ci_only=True)
@pytest.mark.torch
def test_a_profile_without_time_has_one_window(write, run_child, tmp_path):
    text = (
        "import perfledger, torch\n@perfledger.workload\ndef add():\n"
        "    one = torch.ones(8)\n    return lambda: one + one\n"
    )
    root = write({"repository/benchmarks/b.py": text}) / "repository"

    answer = run_child(root, Command.PROFILE, trace_folder=str(tmp_path / "traces"), profile_s=0.0)

    profile = answer.about("benchmarks.b:add")
    assert profile["event"] == "profiled"
    assert Path(profile["trace"]).is_file()
    assert (profile["repeats"], profile["shapes"], profile["lines"]) == ([], "", "")

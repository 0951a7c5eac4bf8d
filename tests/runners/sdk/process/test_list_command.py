"""Real children that list several files, none of which decides what another registers."""

import pytest

from perfledger.protocol import Command

WORKLOAD = """
import os, sys, perfledger

@perfledger.workload
def work():
    return lambda: None
"""
STEPS = """
def train():
    return lambda: None

def make(number=1):
    def made():
        return lambda: number
    return made
"""
REGISTERS = "import perfledger\nfrom library.steps import train\nperfledger.workload(train)\n"
THREAD = "import threading\nthreading.Thread(target=threading.Event().wait, daemon=True).start()\n"

pytestmark = pytest.mark.slow


def ids(answer):
    return [each["id"] for each in answer.of("workload")]


def files(answer):
    return {each["id"]: (each["file"], each["path"]) for each in answer.of("workload")}


def test_a_file_does_not_decide_what_another_registers(write, run_child):
    only_if = "import os, sys, perfledger\nif 'BIG' in os.environ:\n    @perfledger.workload\n    "
    unless = only_if.replace("if 'BIG' in", "if 'BIG' not in")
    work = "def work():\n        return lambda: None\n"
    root = write(
        {
            "benchmarks/a.py": "import os\nos.environ['BIG'] = '1'\n" + WORKLOAD,
            "benchmarks/b.py": only_if + work,
            "benchmarks/c.py": unless + work,
        }
    )
    answer = run_child(root, Command.LIST)

    assert answer.of("broken") == ()
    assert ids(answer) == ["benchmarks.a:work", "benchmarks.c:work"]


def test_the_file_that_registers_a_function_of_a_package_is_told(write, run_child):
    root = write(
        {
            "library/steps.py": STEPS,
            "benchmarks/a.py": WORKLOAD,
            "benchmarks/b.py": REGISTERS,
        }
    )
    answer = run_child(root, Command.LIST)

    assert files(answer) == {
        "benchmarks.a:work": ("benchmarks.a", "benchmarks/a.py"),
        "library.steps:train": ("benchmarks.b", "benchmarks/b.py"),
    }


def test_a_workload_of_a_file_that_others_import_is_listed_once_and_as_its_own(write, run_child):
    root = write(
        {
            "benchmarks/a.py": "import z\n" + WORKLOAD,
            "benchmarks/z.py": WORKLOAD,
        }
    )
    answer = run_child(root, Command.LIST)

    assert files(answer) == {
        "benchmarks.a:work": ("benchmarks.a", "benchmarks/a.py"),
        "benchmarks.z:work": ("benchmarks.z", "benchmarks/z.py"),
    }


def test_a_module_outside_that_registers_its_own_workload_is_of_every_file_that_imports_it(
    write, run_child
):
    root = write(
        {
            "library/registered.py": WORKLOAD,
            "benchmarks/a.py": "import library.registered",
            "benchmarks/b.py": "import library.registered",
        }
    )
    answer = run_child(root, Command.LIST)

    assert [(each["file"], each["registrar"]) for each in answer.of("workload")] == [
        ("benchmarks.a", "library.registered"),
        ("benchmarks.b", "library.registered"),
    ]


def test_paths_and_files_that_cannot_be_imported_are_told_once(write, run_child):
    root = write(
        {
            "benchmarks/a.py": WORKLOAD,
            "benchmarks/b.py": "import z\n",
            "benchmarks/z.py": "raise ValueError('boom')",
        }
    )
    answer = run_child(root, Command.LIST, paths=("missing", "benchmarks"))

    assert [each["path"] for each in answer.of("broken")] == [
        "missing",
        "benchmarks/b.py",
        "benchmarks/z.py",
    ]
    assert ids(answer) == ["benchmarks.a:work"]
    assert answer.messages[-1]["event"] == "done"


def test_where_a_fork_would_not_be_independent_one_process_lists_all_files(write, run_child):
    root = write(
        {
            "start/sitecustomize.py": THREAD,
            "benchmarks/a.py": "import os\nos.environ['LEFT'] = '1'\n" + WORKLOAD,
            "benchmarks/b.py": WORKLOAD + "assert 'LEFT' in os.environ\n",
        }
    )
    answer = run_child(root, Command.LIST, python_path=(root / "start",))

    assert answer.of("broken") == ()
    assert ids(answer) == ["benchmarks.a:work", "benchmarks.b:work"]
    assert len(answer.of("facts")) == 1


def test_a_workload_that_a_thread_of_a_file_registers_is_the_files(write, run_child):
    lines = (
        "import threading, perfledger\n"
        "from library import steps\n"
        "def register():\n"
        "    perfledger.workload(steps.train)\n"
        "    perfledger.workload(units_per_step=lambda: 1 / 0)(steps.make)\n"
        "thread = threading.Thread(target=register)\n"
        "thread.start()\nthread.join()\n"
    )
    root = write({"library/steps.py": STEPS, "benchmarks/a.py": WORKLOAD, "benchmarks/b.py": lines})
    answer = run_child(root, Command.LIST)

    assert files(answer)["library.steps:train"] == ("benchmarks.b", "benchmarks/b.py")
    (broken,) = answer.of("broken")
    assert broken["path"] == "library/steps.py"
    assert "ZeroDivisionError" in broken["detail"]


@pytest.mark.torch
def test_a_framework_is_imported_once_for_all_files_after_the_first(write, run_child):
    imported = "import sys\nBEFORE = 'torch' in sys.modules\nimport torch\n" + WORKLOAD
    text = "\nprint(__name__, BEFORE, flush=True)\n"
    root = write({f"benchmarks/{name}.py": imported + text for name in "abc"})
    answer = run_child(root, Command.LIST)

    assert answer.stdout.split("\n")[:3] == [
        "benchmarks.a False",
        "benchmarks.b True",
        "benchmarks.c True",
    ]
    assert len(ids(answer)) == 3
    assert [*answer.of("facts")[1]["frameworks"]][:1] == ["torch"]


@pytest.mark.torch
def test_a_file_that_sets_what_the_framework_has_read_is_left_to_a_child_of_its_own(
    write, run_child
):
    threads = "import os\nos.environ['OMP_NUM_THREADS'] = '1'\nimport torch\n" + WORKLOAD
    root = write({"benchmarks/a.py": "import torch\n" + WORKLOAD, "benchmarks/b.py": threads})
    answer = run_child(root, Command.LIST)

    (refusal,) = answer.of("no_fork")
    assert refusal["workloads"] == ["benchmarks/b.py"]
    assert "OMP_NUM_THREADS" in refusal["reason"]
    assert ids(answer) == ["benchmarks.a:work"]

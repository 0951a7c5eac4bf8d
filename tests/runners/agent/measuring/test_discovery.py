from collections import Counter
from dataclasses import replace

import pytest

from perfledger.package_code import SourcePackage
from perfledger.protocol import Command
from perfledger.records import FailureReason, Framework, Side
from perfledger_runners.children.harness import prepare_harness
from perfledger_runners.children.limit_watch import TOOK_SHARE
from perfledger_runners.children.protocol_parser import failed_message
from perfledger_runners.measuring.discovery import (
    Discovery,
    UnreadablePath,
    discover,
    list_both_sides,
)

pytestmark = pytest.mark.slow

GRID = """
@perfledger.workload(unit="tokens", units_per_step=lambda batch: 10 * batch,
                     params={"batch": [8, 64]})
def train(batch):
    return lambda: None
"""
ONE = """
@perfledger.workload()
def one():
    return lambda: None
"""


@pytest.fixture
def discover_in(harness, write_benchmarks, request_for, tmp_path):
    def look(**files):
        root = write_benchmarks(tmp_path / "checkout", **files)
        return discover(harness, request_for(root, command=Command.LIST))

    return look


def test_what_is_registered_is_listed_with_its_parameters(discover_in):
    discovery = discover_in(gpt=GRID)

    ids = [spec.id for spec in discovery.workloads]
    assert ids == ["benchmarks.gpt:train[batch=8]", "benchmarks.gpt:train[batch=64]"]
    last = discovery.workloads[1]
    assert (last.params, last.unit, last.units_per_step) == ({"batch": 64}, "tokens", 640.0)
    assert last.framework is Framework.HOST
    assert discovery.facts is not None
    assert discovery.broken == ()


def test_a_file_that_does_not_import_is_a_value(discover_in):
    discovery = discover_in(good=ONE, bad="import a_package_that_nobody_has\n")

    (broken,) = discovery.broken
    assert (broken.path, broken.reason) == ("benchmarks/bad.py", FailureReason.RAISED)
    assert "a_package_that_nobody_has" in broken.detail
    assert [spec.id for spec in discovery.workloads] == ["benchmarks.good:one"]


def test_a_module_that_a_build_may_write_is_said_of_the_own_packages(
    harness, write_benchmarks, request_for, tmp_path
):
    files = {name: f"from {name}._version import version\n" for name in ("mine", "theirs")}
    root = write_benchmarks(tmp_path / "checkout", **{f"bad_{name}": files[name] for name in files})
    for name in files:
        (root / name).mkdir()
        (root / name / "__init__.py").touch()
    request = request_for(root, command=Command.LIST)

    discovery = discover(harness, replace(request, packages=(SourcePackage("mine", "."),)))

    mine, theirs = (broken.detail for broken in discovery.broken)
    assert "No module named 'mine._version'" in mine
    assert mine.endswith("or run with --isolated")
    assert "No module named 'theirs._version'" in theirs
    assert "--isolated" not in theirs


@pytest.mark.slow(ci_only=True)
def test_a_file_that_kills_the_process_costs_the_others_nothing(discover_in):
    discovery = discover_in(
        a_good=ONE, bad="import os\nprint('farewell', flush=True)\nos._exit(5)\n", good=ONE
    )

    (broken,) = discovery.broken
    assert broken.path == "benchmarks/bad.py"
    assert "exit status 5" in broken.detail
    assert "farewell" in broken.log_tail
    assert [spec.id for spec in discovery.workloads] == [
        "benchmarks.a_good:one",
        "benchmarks.good:one",
    ]
    assert discovery.facts is not None


@pytest.mark.slow(ci_only=True)
def test_a_file_that_hangs_costs_the_others_nothing(
    harness, hang, write_benchmarks, request_for, tmp_path
):
    root = write_benchmarks(tmp_path / "checkout", good=ONE, hangs=hang + "hang()\n")

    discovery = discover(harness, request_for(root, command=Command.LIST))

    assert [(each.path, each.reason) for each in discovery.broken] == [
        ("benchmarks/hangs.py", FailureReason.HUNG)
    ]
    assert len(discovery.workloads) == 1


def test_a_single_file_that_kills_its_process_is_imported_once(discover_in, tmp_path):
    discovery = discover_in(
        bad=f"import os\nopen({str(tmp_path / 'imports')!r}, 'a').write('.')\nos._exit(5)\n"
    )

    (broken,) = discovery.broken
    assert broken.path == "benchmarks/bad.py"
    assert "exit status 5" in broken.detail
    assert (tmp_path / "imports").read_text() == "."


def test_files_that_the_budget_leaves_out_have_the_first_childs_reason(
    harness, write_benchmarks, request_for, tmp_path, monkeypatch
):
    root = write_benchmarks(tmp_path / "checkout", good=ONE, hangs=ONE)
    faults = iter(
        ((FailureReason.HUNG, "it hung"), None, *[(FailureReason.BUDGET, "too late")] * 2)
    )

    def answers(_harness, _request):
        fault = next(faults)
        if fault is not None:
            yield failed_message("", *fault)

    monkeypatch.setattr("perfledger_runners.measuring.discovery.run_child", answers)

    discovery = discover(harness, request_for(root, command=Command.LIST))

    assert [(each.path, each.reason, each.detail) for each in discovery.broken] == [
        (f"benchmarks/{name}.py", FailureReason.HUNG, "it hung; alone: too late")
        for name in ("good", "hangs")
    ]


def test_a_folder_that_is_not_there_is_missing(harness, request_for, tmp_path):
    discovery = discover(harness, request_for(tmp_path, command=Command.LIST))

    assert [(each.path, each.reason) for each in discovery.broken] == [
        ("benchmarks", FailureReason.MISSING)
    ]
    assert "there is no 'benchmarks'" in discovery.broken[0].detail


def test_an_interpreter_that_cannot_start_is_asked_once_and_blamed(
    interpreter, write_benchmarks, request_for, tmp_path
):
    root = write_benchmarks(tmp_path / "checkout", good=ONE)
    sitecustomize = tmp_path / "site" / "sitecustomize.py"
    sitecustomize.parent.mkdir()
    sitecustomize.write_text("import os\nos._exit(6)\n")
    environment = {"PYTHONPATH": str(sitecustomize.parent)}
    request = request_for(root, command=Command.LIST)
    with prepare_harness(interpreter, environment=environment) as harness:
        discovery = discover(harness, request)
        without_paths = discover(harness, replace(request, paths=()))

    assert discovery.workloads == ()
    assert [each.path for each in discovery.broken] == ["benchmarks"]
    assert [each.path for each in without_paths.broken] == ["the list of workloads"]
    assert "exit status 6" in discovery.broken[0].detail


STEPS = "def train():\n    return lambda: None\n"
REGISTERS = "from steps import train\nperfledger.workload(train)\n"


def test_a_helper_that_two_files_call_registers_its_workloads_once(discover_in):
    helper = f"{STEPS}\ndef register_all():\n    perfledger.workload(train)\n"
    calls = "from steps import register_all\nregister_all()\n"
    discovery = discover_in(a=calls, b=calls + ONE, steps=helper)

    assert discovery.broken == ()
    assert discovery.files == {
        "benchmarks.steps:train": "benchmarks.a",
        "benchmarks.b:one": "benchmarks.b",
    }


@pytest.mark.parametrize(
    "helper",
    [
        f"{STEPS}\ndef register_all(**options):\n    perfledger.workload(**options)(train)\n",
        (
            "def register_all(unit='steps'):\n    @perfledger.workload()\n    def train():\n"
            "        return lambda: unit\n"
        ),
    ],
)
def test_a_helper_that_registers_other_workloads_of_one_name_is_refused(discover_in, helper):
    calls = "from steps import register_all\nregister_all({})\n"
    discovery = discover_in(a=calls.format(""), b=calls.format("unit='tokens'"), steps=helper)

    (broken,) = discovery.broken
    assert broken.path == "benchmarks/b.py"
    assert "benchmarks/a.py registers it already" in broken.detail


def test_a_workload_that_two_files_register_differently_is_refused_and_both_are_named(discover_in):
    other = REGISTERS.replace("workload(", "workload(margin=0.1)(")
    discovery = discover_in(a=REGISTERS, b=other + ONE, steps=STEPS)

    (broken,) = discovery.broken
    assert (broken.path, broken.reason) == ("benchmarks/b.py", FailureReason.RAISED)
    assert broken.detail == (
        "workload 'benchmarks.steps:train': benchmarks/a.py registers it already, and so does "
        "benchmarks/b.py: register it in one of them"
    )
    assert [spec.id for spec in discovery.workloads] == ["benchmarks.steps:train"]
    assert discovery.files == {"benchmarks.steps:train": "benchmarks.a"}


def test_a_workload_that_a_module_of_two_files_registers_is_listed_for_the_first(discover_in):
    discovery = discover_in(a="import c\n", b="import c\n", c=ONE)

    assert discovery.broken == ()
    assert discovery.files == {"benchmarks.c:one": "benchmarks.c"}


@pytest.mark.torch
def test_a_file_that_cannot_be_listed_in_a_fork_is_listed_in_its_own_child(discover_in):
    threads = "import os\nos.environ['OMP_NUM_THREADS'] = '1'\nimport torch\n"
    only = "if torch.get_num_threads() == 1:\n    " + ONE.strip().replace("\n", "\n    ") + "\n"
    discovery = discover_in(a="import torch\n" + ONE, b=threads + only, c=ONE)

    assert discovery.broken == ()
    assert sorted(discovery.files) == [f"benchmarks.{name}:one" for name in "abc"]
    assert discovery.facts is not None
    assert "torch" in discovery.facts.frameworks


@pytest.mark.parametrize(("detail", "tries"), [(f"{TOOK_SHARE} 9 s", 1), ("AttributeError", 2)])
def test_a_side_whose_import_took_its_share_of_the_budget_is_not_listed_again(
    harness, detail, tries
):
    broken = UnreadablePath(path="w.py", reason=FailureReason.BUDGET, detail=detail)
    listed: list[Side] = []

    def task(_harness, side):
        listed.append(side)
        return Discovery(broken=(broken,) if side is Side.BASE else ())

    list_both_sides(harness, task, is_at_once=True)

    assert Counter(listed) == {Side.BASE: tries, Side.HEAD: 1}

"""Real repositories whose packages are installed as copies, in real children."""

import json
import os
import subprocess
import sys
import sysconfig
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from perfledger.protocol import ChildRequest, Command, MeasuringEffort
from perfledger.records import FailureReason, Side
from perfledger_runners.checkouts.repository import Repository
from perfledger_runners.checkouts.source_tree import read_source_tree
from perfledger_runners.children.harness import prepare_harness
from perfledger_runners.children.interpreter import Interpreter
from perfledger_runners.measuring.discovery import Discovery
from perfledger_runners.measuring.paired_runs import measure_pairs
from perfledger_service.settings.check import CheckSettings
from perfledger_service.usecases.check.side_code import build_code, pair_code
from perfledger_service.usecases.check.workload_plan import plan_workloads
from perfledger_service.usecases.inputs.workload_choice import WorkloadChoice

pytestmark = pytest.mark.slow

IDENTITY = ("-c", "user.name=test", "-c", "user.email=test@example.invalid")
EXTENSION = sysconfig.get_config_var("EXT_SUFFIX")
WORKLOAD = """
import perfledger

@perfledger.workload(device="cpu")
def step():
    import mypkg

    def run():
        from mypkg import late
        late.work()
    return run
"""
WORK = "def work():\n    return sum(range({}))\n"
QUICK = MeasuringEffort(
    min_steps=2, max_steps=2, min_seconds=0.0, max_seconds=0.1, min_warmups=1, max_warmups=1
)
# Copies the package into the environment that is active, as `pip install .` would.
SITE = "$VIRTUAL_ENV/lib/python3.*/site-packages"
INSTALL = f"cp -r {{}}/mypkg {SITE}"
SETUP = """
from setuptools import Extension, setup
setup(name="mypkg", version="1", packages=["mypkg"], package_dir={"": "python"},
      ext_modules=[Extension("mypkg.late", ["csrc/late.c"])])
"""
SOURCE = """
#include <Python.h>
static PyObject *work(PyObject *self, PyObject *unused) { return PyLong_FromLong(%d); }
static PyMethodDef methods[] = {{"work", work, METH_NOARGS, ""}, {NULL, NULL, 0, NULL}};
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "late", NULL, -1, methods};
PyMODINIT_FUNC PyInit_late(void) { return PyModule_Create(&module); }
"""


class OnePair:
    """A stopping rule that is content with one pair."""

    def __init__(self):
        self.open = frozenset()

    def start(self, workloads):
        self.open = frozenset(workloads)

    def add(self, base, head):
        self.open -= {base.workload, head.workload}

    def decision(self):
        return self.open

    def next_pair(self, _):
        return None

    def hopeless(self, _):
        return frozenset()

    def regressions(self):
        return frozenset()


class Project:
    """A repository with a package, and a folder of installed packages with a copy of it."""

    def __init__(self, folder, layout):
        self.root = folder / "repository"
        self.site = folder / "venv" / "site-packages"
        self.cache = folder / "cache"
        self.layout = layout
        self.site.mkdir(parents=True)
        self.root.mkdir()
        self.git("init", "-q", "-b", "main")
        self.write(".gitignore", "build\n__pycache__\n*.egg-info\n")
        self.write("perfledger.toml", 'paths = ["bench.py"]\n')
        self.write("bench.py", WORKLOAD)
        self.write(f"{layout}/mypkg/__init__.py", "NAME = 'mypkg'\n")

    def git(self, *arguments):
        subprocess.run(["git", *IDENTITY, *arguments], cwd=self.root, check=True)

    def write(self, path, text):
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def commit(self):
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", "a change")

    def change(self, path, before, after):
        """Commit a file with one text, and then with another."""
        self.write(path, before)
        self.commit()
        self.write(path, after)
        self.commit()

    def install_copy(self, *, compiled=False):
        """Copy the package of the last but one commit; its extension is never imported."""
        names = ("__init__", "late")
        (self.site / "mypkg").mkdir()
        for name in names:
            text = subprocess.run(
                ["git", "show", f"HEAD~1:{self.layout}/mypkg/{name}.py"],
                cwd=self.root,
                check=True,
                capture_output=True,
            ).stdout
            (self.site / "mypkg" / f"{name}.py").write_bytes(text)
        if compiled:
            (self.site / "mypkg" / f"_C{EXTENSION}").write_bytes(b"machine code")

    def environment(self):
        return {
            **{name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ},
            "PYTHONPATH": str(self.site),
            "XDG_CACHE_HOME": str(self.cache),
            "PIP_NO_INDEX": "1",
        }

    @contextmanager
    def code(self, harness, **settings):
        repository = Repository.open(self.root)
        interpreter = Interpreter(Path(sys.executable), sys.version_info[:3])
        check_settings = CheckSettings(**settings)
        with ExitStack() as stack:
            codes = []
            for name in ("HEAD~1", "HEAD"):
                sha = repository.resolve(name).sha
                checkout = stack.enter_context(repository.worktree(sha, harness.folder / name))
                request = ChildRequest(
                    command=Command.LIST,
                    root=str(checkout),
                    repository=str(self.root),
                    paths=("bench.py",),
                    device="cpu",
                    effort=QUICK,
                )
                code = build_code(
                    read_source_tree(repository, sha, import_paths=check_settings.import_paths),
                    request,
                    check_settings,
                    interpreter=interpreter,
                    environment=self.environment(),
                )
                codes.append(stack.enter_context(code))
            base, head = codes
            yield pair_code(base, head, check_settings)

    def measure(self, **settings):
        """Measure one pair; return the runs by side, the failures and the notes."""
        interpreter = Interpreter(Path(sys.executable), sys.version_info[:3])
        with (
            prepare_harness(interpreter, environment=self.environment()) as harness,
            self.code(harness, **settings) as code,
        ):
            base, head = (code.discover(harness, side) for side in Side)
            plan = plan_workloads(base, head, choice=WorkloadChoice())
            paired = measure_pairs(
                harness,
                code.requests,
                plan.to_measure,
                OnePair(),
                seed=1,
                max_pairs=1,
                budget_s=600.0,
                check_run=code.origin.failure,
            )
            notes = code.notes(base, head)
        runs = {run.side: run for run in paired.runs}
        return runs, plan.failures + paired.failures, notes


@pytest.fixture
def project(tmp_path):
    return lambda layout="python": Project(tmp_path, layout)


def loaded(runs, side):
    (package,) = (each for each in runs[side].packages if each.name == "mypkg")
    return package


@pytest.mark.parametrize("layout", ["python", "src", "packages/one/src", "."])
def test_each_side_runs_its_own_package_in_any_layout_despite_a_copy(project, layout):
    mine = project(layout)
    mine.write("packages/one/pyproject.toml", "")
    mine.change(f"{layout}/mypkg/late.py", WORK.format(10), WORK.format(30))
    mine.install_copy()

    runs, failures, notes = mine.measure()

    assert (failures, notes) == ((), ())
    base, head = (loaded(runs, side) for side in Side)
    assert base.is_own
    assert head.is_own
    assert (base.name, base.modules, head.modules) == ("mypkg", 2, 2)  # the late one too
    assert base.digest != head.digest


def test_a_changed_package_that_can_only_run_from_its_copy_is_not_measured(project):
    mine = project()
    mine.change("python/mypkg/late.py", WORK.format(10), WORK.format(30))
    mine.install_copy(compiled=True)

    runs, (failure, other_side), _ = mine.measure()

    assert failure.why is other_side.why is FailureReason.WRONG_CODE
    assert failure.detail.startswith(
        f"the installed copy of mypkg at {mine.site}/mypkg ran, not this commit "
        "(python/mypkg/late.py changed): set `build`"
    )
    assert not any(loaded(runs, side).is_own for side in runs)


def test_an_unchanged_package_that_runs_from_its_copy_is_measured_with_a_note(project):
    mine = project()
    mine.write("python/mypkg/late.py", WORK.format(10))
    mine.change("other.txt", "1", "2")
    mine.install_copy(compiled=True)

    runs, failures, (note,) = mine.measure()

    assert failures == ()
    assert note.startswith("mypkg ran from its installed copy at")
    assert loaded(runs, Side.BASE) == loaded(runs, Side.HEAD)


def test_a_build_gives_each_side_its_own_copy(project):
    mine = project()
    mine.change("python/mypkg/late.py", WORK.format(10), WORK.format(30))
    mine.install_copy(compiled=True)
    marked = f"touch python/mypkg/_C{EXTENSION} && {INSTALL.format('python')}"

    for _ in range(2):  # built, and from the cache
        runs, failures, _ = mine.measure(build=marked)

        assert failures == ()
        assert all(loaded(runs, side).is_own for side in Side)
        assert loaded(runs, Side.BASE).digest != loaded(runs, Side.HEAD).digest
    assert len(list((mine.cache / "perfledger" / "environments").glob("*/venv"))) == 2


def test_a_failing_build_of_one_side_fails_its_workloads_with_its_output(project):
    mine = project()
    mine.change("python/mypkg/late.py", WORK.format(10), WORK.format(30))

    runs, (failure,), _ = mine.measure(
        build="grep -q 10 python/mypkg/late.py || { echo 30; false; }"
    )

    assert runs == {}
    assert (failure.workload, failure.side) == ("bench:step", Side.HEAD)
    assert failure.why is FailureReason.BUILD
    assert failure.detail.endswith("failed: exit status 1")
    assert failure.log_tail == "30\n"


def test_what_needs_a_build_is_noted_when_there_is_none(project):
    mine = project()
    mine.write("python/mypkg/late.py", WORK.format(10))
    mine.change("requirements.txt", "torch==2.12", "torch==2.13")

    _, _, (note,) = mine.measure()

    assert note.startswith("dependencies changed (requirements.txt); both sides ran with")


def test_isolated_sides_without_a_usual_build_say_so(project):
    mine = project()
    mine.write("python/mypkg/late.py", WORK.format(10))
    mine.commit()
    mine.commit()

    _, failures, notes = mine.measure(isolated=True)

    assert failures == ()
    assert [note.partition(" has no")[0] for note in notes] == ["base", "head"]


def test_changed_dependencies_are_named(project):
    mine = project()
    mine.change("python/mypkg/late.py", WORK.format(10), WORK.format(30))
    version = "$(grep -q 10 python/mypkg/late.py && echo 2.12 || echo 2.13)"

    _, failures, notes = mine.measure(
        build=f"echo import helper >> bench.py && v={version} && cd {SITE} && "
        "echo A=1 > helper.py && mkdir helper-$v.dist-info"
    )

    assert failures == ()
    assert notes == ("dependencies differ on head: helper 2.12 → 2.13",)


def test_a_compiled_extension_is_not_measured_as_installed_and_measured_as_built(
    project, require_system
):
    require_system("cc", package="gcc")
    mine = project()
    mine.write("setup.py", SETUP)
    mine.change("csrc/late.c", SOURCE % 1, SOURCE % 3)
    mine.git("checkout", "-q", "HEAD~1")
    pip = (sys.executable, "-m", "pip", "install", "-q", "--no-build-isolation", "--no-deps")
    target = ("--no-index", "--target", str(mine.site), ".")
    subprocess.run([*pip, *target], cwd=mine.root, check=True, env=mine.environment() | os.environ)
    mine.git("checkout", "-q", "main")

    _, (failure, other_side), (note,) = mine.measure()
    built = "pip install -q --no-build-isolation --no-deps --no-index ."
    runs, failures, notes = mine.measure(build=built)
    in_place, none, _ = mine.measure(build="python setup.py -q build_ext --inplace")

    assert failure.why is other_side.why is FailureReason.WRONG_CODE
    assert "csrc/late.c changed" in failure.detail
    assert note.startswith("compiled sources changed (csrc/late.c)")
    assert (failures, none, notes) == ((), (), ())
    for measured in (runs, in_place):
        base, head = (loaded(measured, side).compiled for side in Side)
        assert [Path(each.path).name for each in base] == [f"late{EXTENSION}"]
        assert base[0].digest != head[0].digest


def test_a_check_of_an_installed_copy_ends_with_three(project):
    mine = project()
    mine.change("python/mypkg/late.py", WORK.format(10), WORK.format(30))
    mine.install_copy(compiled=True)
    command = ("check", "--base", "HEAD~1", "--head", "HEAD", "--format", "json")

    done = subprocess.run(
        [sys.executable, "-m", "perfledger_service", *command],
        cwd=mine.root,
        capture_output=True,
        text=True,
        check=False,
        env=mine.environment() | {"XDG_STATE_HOME": str(mine.cache / "state")},
    )

    assert done.returncode == 3, done.stderr
    assert [each["why"] for each in json.loads(done.stdout)["failures"]] == ["wrong code"] * 2


def test_a_side_without_a_child_has_no_differences_to_name(project):
    mine = project()
    mine.change("python/mypkg/late.py", WORK.format(10), WORK.format(30))
    interpreter = Interpreter(Path(sys.executable), sys.version_info[:3])
    with (
        prepare_harness(interpreter, environment=mine.environment()) as harness,
        mine.code(harness) as code,
    ):
        assert code.notes(Discovery(), Discovery()) == ()

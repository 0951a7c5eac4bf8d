"""Real repositories whose packages are installed as copies, in real children."""

import json
import os
import shutil
import subprocess
import sys
import sysconfig
from contextlib import chdir
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from perfledger.records import FailureReason, Side
from perfledger_runners.children.harness import prepare_harness
from perfledger_runners.children.interpreter import Interpreter
from perfledger_runners.environments.build import BuildError
from perfledger_runners.measuring.discovery import Discovery
from perfledger_service.cli.app import app

pytestmark = pytest.mark.slow

EXTENSION = sysconfig.get_config_var("EXT_SUFFIX")
WORK = "def work():\n    return sum(range({}))\n"
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


# A step that works with the wheel of its own side alone.
NAMED = """
        import slowdep as late
        from pathlib import Path
        assert Path("requirements.txt").read_text()[2:5] == late.NAME
"""
LIBRARY_WORKLOAD = """
import perfledger

@perfledger.workload(device="cpu")
def step():
    import ctypes
    return ctypes.CDLL({!r}).work
"""
WHEELS = "--find-links wheels\n"


def loaded(runs, side):
    (package,) = (each for each in runs[side].packages if each.name == "mypkg")
    return package


@pytest.mark.parametrize(
    "layout",
    [
        "src",
        *(
            pytest.param(layout, marks=pytest.mark.slow(ci_only=True))
            for layout in ("python", "packages/one/src", ".")
        ),
    ],
)
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


@pytest.mark.slow(ci_only=True)
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


@pytest.mark.slow(ci_only=True)
def test_an_unchanged_package_that_runs_from_its_copy_is_measured_with_a_note(project):
    mine = project()
    mine.write("python/mypkg/late.py", WORK.format(10))
    mine.change("other.txt", "1", "2")
    mine.install_copy(compiled=True)

    runs, failures, (note,) = mine.measure()

    assert failures == ()
    assert note.startswith("mypkg ran from its installed copy at")
    assert loaded(runs, Side.BASE) == loaded(runs, Side.HEAD)


@pytest.mark.slow(ci_only=True)
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


@pytest.mark.slow(ci_only=True)
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


@pytest.mark.slow(ci_only=True)
def test_a_changed_pin_is_installed_on_each_side_without_a_setting(project):
    mine = project()
    imported = "import slowdep as late"
    mine.write("bench.py", mine.WORKLOAD.replace("from mypkg import late", imported))
    mine.write("python/mypkg/late.py", WORK.format(10))
    for version in (1, 2):
        mine.write_wheel("slowdep", version, WORK.format(10 * version))
    mine.change("requirements.txt", f"{WHEELS}slowdep==1\n", f"{WHEELS}slowdep==2\n")

    runs, failures, notes = mine.measure()

    assert failures == ()
    assert set(runs) == set(Side)
    build_note, versions_note = notes
    assert build_note.startswith(
        "requirements.txt changed: each side ran in a separate environment"
    )
    assert build_note.endswith("made by `pip install -r requirements.txt`")
    assert versions_note == "installed packages differ on head: slowdep 1 \N{RIGHTWARDS ARROW} 2"


@pytest.mark.slow(ci_only=True)
def test_a_dependency_of_the_same_version_from_elsewhere_replaces_the_installed_one(project):
    mine = project()
    mine.write("bench.py", mine.WORKLOAD.replace("from mypkg import late", NAMED))
    mine.write("python/mypkg/late.py", WORK.format(10))
    for folder in ("one", "two"):
        mine.write_wheel("slowdep", 1, f"NAME = {folder!r}\n" + WORK.format(10), folder=folder)
    name = "slowdep-1-py3-none-any.whl"
    mine.change("requirements.txt", f"./one/{name}\n", f"./two/{name}\n")
    mine.install_wheel("two")

    _, failures, notes = mine.measure()

    assert failures == ()
    assert notes[1] == (
        "requirements.txt changed, but both environments have the same versions of all packages"
    )


@pytest.mark.parametrize(
    ("path", "texts", "detail"),
    [
        pytest.param(
            "requirements.txt",
            ("no-such==1", "no-such==2"),
            "failed: exit status 1 (req",
            marks=pytest.mark.slow(ci_only=True),
        ),
        ("pixi.lock", ("1", "2"), "pixi.lock changed, and perfledger cannot install from it"),
    ],
)
def test_changed_dependencies_that_cannot_be_installed_are_not_measured(
    project, path, texts, detail
):
    mine = project()
    mine.write("python/mypkg/late.py", WORK.format(10))
    mine.change(path, *texts)

    runs, failures, _ = mine.measure()

    assert runs == {}
    assert {failure.why for failure in failures} == {FailureReason.BUILD}
    assert all(detail in failure.detail for failure in failures)
    assert all("set `build` in perfledger.toml" in failure.detail for failure in failures)


def test_a_build_that_no_setting_asks_for_is_not_made_outside_a_sandbox(project):
    mine = project()
    mine.write("python/mypkg/late.py", WORK.format(10))
    mine.change("requirements.txt", "a==1", "a==2")

    _, failures, _ = mine.measure(sandbox="env")

    assert all("a build runs outside the sandbox" in failure.detail for failure in failures)
    assert failures


@pytest.mark.slow(ci_only=True)
def test_a_library_from_the_users_checkout_is_not_measured_if_its_source_changed(
    project, require_system
):
    require_system("cc", package="gcc")
    mine = project()
    library = mine.root / "build" / "fast.so"
    mine.write("bench.py", LIBRARY_WORKLOAD.format(str(library)))
    mine.write("build/none.txt", "")
    mine.change("csrc/fast.c", "int work(void) { return 1; }", "int work(void) { return 3; }")
    command = ["cc", "-shared", "-fPIC", "-o", str(library), "csrc/fast.c"]
    subprocess.run(command, cwd=mine.root, check=True)

    _, failures, _ = mine.measure()

    assert {failure.why for failure in failures} == {FailureReason.WRONG_CODE}
    assert f"both sides used fast from {library.parent}" in failures[0].detail
    assert "csrc/fast.c changed" in failures[0].detail


@pytest.mark.slow(ci_only=True)
def test_a_submodules_installed_copy_is_not_measured_if_its_commit_changed(project):
    mine = project()
    mine.write("bench.py", mine.WORKLOAD.replace("from mypkg import late", "from lib import late"))
    mine.write("python/mypkg/late.py", WORK.format(10))
    mine.commit()
    mine.write_submodule("third_party/lib", {"lib/__init__.py": "", "lib/late.py": WORK.format(10)})
    mine.commit()
    shutil.copytree(mine.root / "third_party/lib/lib", mine.site / "lib")
    mine.write_submodule("third_party/lib", {"lib/late.py": WORK.format(30)})
    mine.commit()

    _, failures, _ = mine.measure()

    assert {failure.why for failure in failures} == {FailureReason.WRONG_CODE}
    assert f"the installed copy of lib at {mine.site}/lib ran" in failures[0].detail
    assert "third_party/lib/lib/late.py" in failures[0].detail


@pytest.mark.slow(ci_only=True)
def test_isolated_sides_without_a_usual_build_say_so(project):
    mine = project()
    mine.write("python/mypkg/late.py", WORK.format(10))
    mine.commit()
    mine.commit()

    _, failures, notes = mine.measure(isolated=True)

    assert failures == ()
    assert [note.partition(" has no")[0] for note in notes] == ["base", "head"]


@pytest.mark.slow(ci_only=True)
def test_changed_dependencies_are_named(project):
    mine = project()
    mine.change("python/mypkg/late.py", WORK.format(10), WORK.format(30))
    version = "$(grep -q 10 python/mypkg/late.py && echo 2.12 || echo 2.13)"

    _, failures, notes = mine.measure(
        build=f"echo import helper >> bench.py && v={version} && cd {SITE} && "
        "echo A=1 > helper.py && mkdir helper-$v.dist-info"
    )

    assert failures == ()
    assert notes == ("installed packages differ on head: helper 2.12 → 2.13",)


@pytest.mark.slow(ci_only=True)
def test_a_compiled_extension_is_measured_as_built_and_never_as_installed(project, require_system):
    require_system("cc", package="gcc")
    mine = project()
    mine.write("setup.py", SETUP)
    mine.change("csrc/late.c", SOURCE % 1, SOURCE % 3)
    mine.git("checkout", "-q", "HEAD~1")
    pip = (sys.executable, "-m", "pip", "install", "-q", "--no-build-isolation", "--no-deps")
    target = ("--no-index", "--target", str(mine.site), ".")
    subprocess.run([*pip, *target], cwd=mine.root, check=True, env=mine.environment() | os.environ)
    mine.git("checkout", "-q", "main")

    unbuilt, without_compiler, _ = mine.measure()
    mine.variables["PIP_NO_BUILD_ISOLATION"] = "0"  # the name says the opposite of the value
    by_itself, no_failures, (note,) = mine.measure()
    built = "pip install -q --no-build-isolation --no-deps --no-index ."
    runs, failures, notes = mine.measure(build=built)
    in_place, none, _ = mine.measure(build="python setup.py -q build_ext --inplace")

    assert unbuilt == {}
    assert all("`pip install .` failed" in failure.detail for failure in without_compiler)
    assert note.startswith("csrc/late.c changed: each side ran in a separate environment")
    assert (failures, no_failures, none, notes) == ((), (), (), ())
    for measured in (by_itself, runs, in_place):
        base, head = (loaded(measured, side).compiled for side in Side)
        assert [Path(each.path).name for each in base] == [f"late{EXTENSION}"]
        assert base[0].digest != head[0].digest


@pytest.mark.slow(ci_only=True)
@pytest.mark.usefixtures("short_runs")
def test_a_check_of_an_installed_copy_ends_with_three(project):
    mine = project()
    mine.change("python/mypkg/late.py", WORK.format(10), WORK.format(30))
    mine.install_copy(compiled=True)
    command = ("check", "--base", "HEAD~1", "--head", "HEAD", "--format", "json")
    unset = {name: None for name in os.environ if name.startswith("GITHUB_")}
    own = mine.environment() | {"XDG_STATE_HOME": str(mine.cache / "state")}

    with chdir(mine.root):
        done = CliRunner().invoke(app, command, env=unset | own)

    assert done.exit_code == 3, done.stderr
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


@pytest.mark.parametrize(("paths", "name"), [(("a", "b"), "a, b"), ((), "the list of workloads")])
def test_a_side_that_was_not_built_is_named_by_its_paths(project, paths, name):
    mine = project()
    mine.change("python/mypkg/late.py", WORK.format(10), WORK.format(30))
    interpreter = Interpreter(Path(sys.executable), sys.version_info[:3])
    with (
        prepare_harness(interpreter, environment=mine.environment()) as harness,
        mine.code(harness) as code,
    ):
        requests = {side: replace(one, paths=paths) for side, one in code.requests.items()}
        error = BuildError("it failed", output="its log")
        failed = replace(code, requests=requests, failures={Side.HEAD: error})
        (broken,) = failed.discover(harness, Side.HEAD).broken

    assert (broken.path, broken.reason) == (name, FailureReason.BUILD)
    assert (broken.detail, broken.log_tail) == ("it failed", "its log")


@pytest.mark.slow(ci_only=True)
def test_a_change_of_pythons_version_is_named_as_not_measured(project):
    mine = project()
    mine.write("python/mypkg/late.py", WORK.format(10))
    mine.change(".python-version", "3.12\n", "3.13\n")

    _, failures, (note,) = mine.measure()

    assert failures == ()
    assert note == (
        ".python-version changed, but both sides ran with the same Python: another version was not "
        "measured"
    )


@pytest.mark.slow(ci_only=True)
def test_a_package_that_head_removes_does_not_run_from_its_copy(project):
    mine = project()
    mine.change("python/mypkg/late.py", WORK.format(5), WORK.format(10))
    mine.git("rm", "-rq", "python/mypkg")
    mine.commit()
    mine.install_copy()
    runs, (failure, *_), _ = mine.measure()
    assert loaded(runs, Side.BASE).is_own
    assert failure.why is FailureReason.WRONG_CODE
    assert f"the installed copy of mypkg at {mine.site}/mypkg ran" in failure.detail

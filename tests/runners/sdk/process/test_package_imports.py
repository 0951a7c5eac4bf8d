"""Real children import packages that are installed as copies as well as checked out."""

from importlib.machinery import EXTENSION_SUFFIXES

import pytest

from perfledger.package_code import SourcePackage
from perfledger.process.package_imports import prefer_checkout, python_path
from perfledger.protocol import Command

WORKLOAD = """
import perfledger

@perfledger.workload(device="cpu")
def where():
    import mypkg
    print("ran", mypkg.NAME)
    return lambda: None
"""


IN_A_CHILD = """
import os, subprocess, sys
import perfledger

@perfledger.workload(device="cpu")
def where():
    os.chdir("/")
    command = (sys.executable, "-c", "import mypkg; print('ran', mypkg.NAME)")
    print(subprocess.check_output(command, text=True))
    return lambda: None
"""


@pytest.fixture
def ran(write, tmp_path, run_child):
    """Return a function that runs a workload and returns the NAME of the package it imported."""

    def run(root, *packages, layout, **more):
        files = {
            "checkout/bench.py": WORKLOAD,
            f"checkout/{layout}/mypkg/__init__.py": "NAME = 'checkout'",
            "venv/site-packages/mypkg/__init__.py": "NAME = 'copy'",
        }
        write(files | more)
        answer = run_child(
            tmp_path / "checkout",
            Command.MEASURE,
            python_path=[tmp_path / "venv" / "site-packages"],
            paths=("bench.py",),
            workloads=("bench:where",),
            packages=tuple(SourcePackage(name, root) for name in packages or ("mypkg",)),
        )
        assert answer.about("bench:where")["event"] == "run", answer
        return answer.stdout.split()[1]

    return run


@pytest.mark.parametrize("layout", ["python", "packages/one"])
def test_a_package_of_any_layout_runs_from_the_checkout_despite_a_copy(ran, layout):
    assert ran(layout, layout=layout) == "checkout"


def test_a_package_that_is_not_the_revisions_is_left_where_it_is(ran):
    assert ran("python", "another", layout="other") == "copy"


def test_a_copy_with_compiled_modules_that_the_checkout_lacks_is_used(ran):
    compiled = {f"venv/site-packages/mypkg/_C{EXTENSION_SUFFIXES[0]}": ""}

    assert ran("src", layout="src", **compiled) == "copy"


def test_a_checkout_with_its_extension_built_in_place_is_used(ran):
    name = f"mypkg/_C{EXTENSION_SUFFIXES[0]}"
    compiled = {f"venv/site-packages/{name}": "", f"checkout/src/{name}": ""}

    assert ran("src", layout="src", **compiled) == "checkout"


def test_a_folder_that_would_hide_the_standard_library_is_not_put_on_the_path(ran):
    hiding = {"checkout/lib/statistics.py": "raise SystemExit"}

    assert ran("lib", layout="lib", **hiding) == "copy"


@pytest.mark.parametrize(("root", "layout"), [("src", "src"), (".", ".")])
def test_a_python_process_of_a_step_runs_the_checkout_too(ran, root, layout):
    assert ran(root, layout=layout, **{"checkout/bench.py": IN_A_CHILD}) == "checkout"


@pytest.mark.parametrize("hidden", ["checkout/src/statistics.py", "checkout/src/token/__init__.py"])
def test_no_python_process_of_a_step_finds_a_module_of_the_standard_library_there(ran, hidden):
    files = {"checkout/bench.py": IN_A_CHILD, hidden: "raise SystemExit"}

    assert ran("src", layout="src", **files) == "copy"


@pytest.mark.parametrize(("root", "layout"), [("src", "src"), (".", ".")])
def test_a_python_process_of_a_step_runs_the_copy_that_its_step_runs(ran, root, layout):
    compiled = {f"venv/site-packages/mypkg/_C{EXTENSION_SUFFIXES[0]}": ""}

    assert ran(root, layout=layout, **compiled, **{"checkout/bench.py": IN_A_CHILD}) == "copy"


def test_a_folder_that_cannot_be_named_on_a_path_is_left_out_of_it(tmp_path, write):
    write({"src:old/mypkg.py": "", "src/mypkg.py": ""})
    search_path = [str(tmp_path / "src:old"), str(tmp_path / "src"), str(tmp_path / "src"), "/usr"]

    assert python_path(tmp_path, search_path, without=(), inherited="/theirs") == (
        f"{tmp_path}/src:/theirs"
    )
    assert python_path(tmp_path, ["/usr"], without=(), inherited="") == ""


def test_the_folders_come_at_their_position_once_and_only_from_the_checkout(tmp_path):
    for name in ("python", "src"):
        (tmp_path / "checkout" / name).mkdir(parents=True)
    root = tmp_path / "checkout"
    search_path = [str(root), str(root / "src"), "/usr/lib/python3"]
    packages = [SourcePackage("a", "src"), SourcePackage("b", "python"), SourcePackage("c", "..")]

    finders = []

    prefer_checkout(root, packages, search_path=search_path, add_finder=finders.append, at=2)

    assert not finders
    assert search_path == [
        *(str(root), str(root / "src"), str(root / "python")),
        "/usr/lib/python3",
    ]


def test_the_sides_own_environment_comes_before_a_copy_on_the_users_path(tmp_path, write):
    name = f"site-packages/mypkg/_C{EXTENSION_SUFFIXES[0]}"
    write({f"{place}/{name}": "" for place in ("theirs", "environment/lib")})
    sites = [str(tmp_path / place / "site-packages") for place in ("theirs", "environment/lib")]
    finders = []

    prefer_checkout(
        tmp_path / "checkout",
        [SourcePackage("mypkg", "src")],
        search_path=sites,
        add_finder=finders.append,
        at=0,
        environment=str(tmp_path / "environment"),
    )

    (finder,) = finders
    module_spec = finder.find_spec("mypkg", None)
    assert list(module_spec.submodule_search_locations) == [f"{sites[1]}/mypkg"]
    assert finder.find_spec("another", None) is None

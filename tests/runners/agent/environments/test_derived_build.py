import shlex
from dataclasses import replace
from pathlib import Path

import pytest

from perfledger_runners.checkouts.dependency_files import (
    DeclaredDependencies,
    declared_dependencies,
    project_build,
)
from perfledger_runners.checkouts.package_layout import join
from perfledger_runners.checkouts.source_tree import SourceTree
from perfledger_runners.environments.build import BuildError
from perfledger_runners.environments.derived_build import (
    BuildInputs,
    build_inputs,
    derived_build,
    install_tool,
)
from perfledger_runners.environments.lock_tool import LOCK_TOOLS

PROJECT = "[project]\nname = 'a'\ndependencies = ['torch', 'numpy{}']\n"
UV = "uv sync --frozen --no-editable"
POETRY = "poetry install --no-interaction --no-root"
LOCK = '[[package]]\nname = "numpy"\nversion = "{}"\nsource = {{ registry = "x" }}\n'


def tree(files, projects=(".",)):
    def content(folder, name):
        text = files.get(join(folder, name))
        return None if text is None else text.encode()

    return SourceTree(
        hashes=dict(files),
        packages=(),
        extensions=frozenset(),
        dependencies={
            path: declared_dependencies(path, text.encode())
            for path, text in files.items()
            if not path.endswith(".c")
        },
        projects={
            each: project_build(content(each, "pyproject.toml"), content(each, "setup.py"))
            for each in projects
        },
    )


def command_of(tree, inputs, *, prefix=Path("/usr")):
    return derived_build(tree, inputs, install_tool(tree, inputs, prefix=prefix))


def commands(base, head, *, paths=("benchmarks",), projects=(".",), prefix=Path("/usr")):
    trees = tree(base, projects), tree(head, projects)
    inputs = build_inputs(*trees, paths=paths)
    return [command_of(each, inputs, prefix=prefix) for each in trees]


@pytest.mark.parametrize(
    ("files", "command"),
    [
        ({"uv.lock": "", "pyproject.toml": PROJECT, "requirements.txt": "a"}, UV),
        ({"poetry.lock": "", "uv.lock": ""}, UV),
        (
            {"poetry.lock": "", "pyproject.toml": PROJECT},
            f"{POETRY} && pip install --no-deps .",
        ),
        ({"poetry.lock": "", "pyproject.toml": "[tool.poetry]\npackage-mode = false"}, POETRY),
        (
            {"poetry.lock": "", "setup.py": "import torch.utils.cpp_extension\nsetup()"},
            f"{POETRY} && pip install --no-build-isolation --no-deps .",
        ),
        ({"pdm.lock": "", "pyproject.toml": PROJECT}, "pdm sync --no-editable"),
        ({"requirements.txt": "a"}, "pip install -r requirements.txt"),
        ({"pyproject.toml": PROJECT}, "pip install ."),
        ({"pyproject.toml": "[tool.ruff]"}, ""),
        (
            {"requirements.txt": "a", "setup.py": "setup()"},
            "pip install -r requirements.txt && pip install .",
        ),
        (
            {"setup.py": "import torch.utils.cpp_extension\nsetup()"},
            "pip install --no-build-isolation .",
        ),
        ({"sub/setup.py": "setup()"}, ""),
    ],
)
def test_the_usual_command_follows_from_the_files(files, command):
    assert command_of(tree(files, (".", "sub")), BuildInputs()) == command


def test_nothing_differs_between_files_that_install_the_same():
    base = tree({"requirements.txt": "torch # why", "pyproject.toml": "[tool.a]\nb = 1"})
    head = tree({"requirements.txt": "torch", "pyproject.toml": "[tool.a]\nb = 2"})

    assert build_inputs(base, head, paths=()).files == ()


@pytest.mark.parametrize("tool", LOCK_TOOLS, ids=lambda tool: tool.program)
def test_a_changed_lock_is_installed_by_its_tool_and_its_changed_packages_are_known(tool):
    base, head = (tree({tool.lock: LOCK.format(version)}) for version in (1, 2))

    inputs = build_inputs(base, head, paths=())

    assert (inputs.dependencies, inputs.locked) == ((tool.lock,), frozenset({"numpy"}))
    assert inputs.new_sources == frozenset()
    assert command_of(head, inputs) == tool.command


def test_a_package_of_one_version_from_elsewhere_has_moved():
    base, head = (tree({"uv.lock": LOCK.format(1).replace('"x"', name)}) for name in "xy")

    inputs = build_inputs(base, head, paths=())

    assert inputs.locked == inputs.new_sources == frozenset({"numpy"})


def test_a_change_of_tools_is_made_by_that_of_each_side():
    base, head = {"poetry.lock": LOCK.format(1)}, {"uv.lock": LOCK.format(1)}

    assert commands(base, head) == [POETRY, UV]


def test_an_exact_pin_is_installed_and_what_pip_would_keep_is_replaced():
    base = {"requirements.txt": "-f wheels\ntorch\na==1\nb<2\nc @ git+https://x/c@1\n"}
    head = {"requirements.txt": "-f wheels\ntorch\na==2\nb\nc @ git+https://x/c@2\n"}

    assert commands(base, head) == [
        "pip install -r requirements.txt"
        f" && pip install --upgrade -f wheels {name}"
        f" && pip install --force-reinstall --no-deps -f wheels 'c @ git+https://x/c@{number}'"
        for name, number in (("'b<2'", 1), ("b", 2))
    ]


def with_wheel(requirement, digest):
    """The tree of a repository with a wheel of this content."""
    wheel = DeclaredDependencies(archive=requirement, rest=digest)
    one = tree({"requirements.txt": "numpy"})
    return replace(one, dependencies={**one.dependencies, "libs/a.whl": wheel})


def test_a_changed_archive_is_installed_although_its_version_is_the_same():
    trees = [with_wheel("./libs/a.whl; (os_name == 'nt')", digest) for digest in "12"]
    inputs = build_inputs(*trees, paths=["benchmarks"])

    assert inputs.files == ("libs/a.whl",)
    assert command_of(trees[1], inputs) == (
        "pip install -r requirements.txt && pip install --force-reinstall --no-deps "
        + shlex.quote("./libs/a.whl; (os_name == 'nt')")
    )


def test_a_changed_archive_that_no_file_names_needs_a_build_of_the_users():
    trees = [with_wheel("", digest) for digest in "12"]

    with pytest.raises(BuildError, match=r"libs/a\.whl changed, and perfledger cannot install"):
        command_of(trees[1], build_inputs(*trees, paths=["benchmarks"]))


def test_a_higher_lower_bound_replaces_nothing():
    base, head = ({"requirements.txt": f"torch>={bound},<3\n"} for bound in ("2.0", "2.1"))

    assert commands(base, head) == ["pip install -r requirements.txt"] * 2


def test_extras_and_further_requirements_are_installed_if_they_changed():
    base = {"pyproject.toml": PROJECT.format("==1"), "requirements/gpu.txt": "-f w\nx==1\ny\n"}
    head = {"pyproject.toml": PROJECT.format("==2"), "requirements/gpu.txt": "-f w\nx==2\ny\n"}

    assert commands(base, head)[1] == (
        "pip install . && pip install --upgrade numpy==2"
        " && pip install --upgrade -f requirements/w x==2"
    )


@pytest.mark.parametrize(
    ("base", "head", "words"),
    [
        ({"pixi.lock": "1"}, {"pixi.lock": "2"}, "pixi.lock changed, and perfledger cannot"),
        (
            {"uv.lock": "", "requirements.txt": "a"},
            {"uv.lock": "", "requirements.txt": "b"},
            "requirements.txt changed, and perfledger cannot",
        ),
        ({}, {"requirements.txt": "b"}, "this side has nothing to install"),
    ],
)
def test_what_cannot_be_installed_is_an_error_that_names_it(base, head, words):
    with pytest.raises(BuildError, match=f"{words}.*set `build`"):
        commands(base, head)


def test_the_file_of_a_conda_environment_is_installed_by_conda_only_if_it_differs(tmp_path):
    (tmp_path / "conda-meta").mkdir()
    base, head = ({"environment.yml": each, "requirements.txt": each} for each in ("a", "b"))
    others = {**base, "requirements.txt": "b"}

    derived_builds = commands(base, head, prefix=tmp_path)
    inherited = commands(base, others, prefix=tmp_path)

    assert all(
        'conda env create --quiet --prefix "$VIRTUAL_ENV"' in each for each in derived_builds
    )
    assert all(each.startswith("pip install -r requirements.txt") for each in inherited)


def test_a_second_environment_of_conda_that_changes_is_refused(tmp_path):
    (tmp_path / "conda-meta").mkdir()
    files = ("environment.yml", "environment-gpu.yml")
    base, head = (dict.fromkeys(files, f"dependencies: [{each}]") for each in "ab")

    with pytest.raises(BuildError, match=r"^environment-gpu\.yml changed, and perfledger cannot"):
        commands(base, head, prefix=tmp_path)


def test_a_file_of_conda_is_refused_where_python_is_not_of_its_environment():
    base, head = ({"environment.yml": each} for each in "ab")

    with pytest.raises(BuildError, match=r"or `python` to the interpreter of the environment"):
        commands(base, head)


def test_dependencies_of_projects_without_workloads_are_left_to_the_check_of_what_ran():
    base, head = ({"sub/pyproject.toml": PROJECT.format(pin)} for pin in ("==1", "==2"))
    projects = (".", "sub")

    assert commands(base, head, projects=projects) == ["", ""]
    assert commands(base, head, projects=projects, paths=("sub/benchmarks",))[1] == (
        "pip install ./sub && pip install --upgrade numpy==2"
    )


def test_compiled_sources_need_a_build_where_the_project_compiles_them():
    setup = {"setup.py": "setup(ext_modules=[Extension('a', ['a.c'])])"}
    base, head = (tree(setup | {"a.c": text}) for text in ("1", "2"))
    inputs = build_inputs(base, head, paths=())
    pure = {".": project_build(b"[project]\nname = 'a'", None)}

    assert (inputs.files, command_of(head, inputs)) == (("a.c",), "pip install .")
    assert not build_inputs(
        replace(base, projects=pure), replace(head, projects=pure), paths=()
    ).files


OLD, NEW = (f"wheels/My_Dep-{version}-py3-none-any.whl" for version in (1, 2))
LINKS = "-f ./wheels/\nmy.dep\nother\n"


def test_a_new_wheel_in_a_linked_folder_replaces_the_installed_package_on_both_sides():
    files = {"requirements.txt": LINKS, OLD: "a"}

    base, head = commands(files, files | {NEW: "b"})

    forced = "pip install --force-reinstall --no-deps -f wheels my.dep"
    assert base == head == f"pip install -r requirements.txt && {forced}"


def test_a_wheel_that_replaces_another_in_a_linked_folder_is_installed_once():
    files = {"requirements/base.txt": "--find-links=../wheels\nmy-dep==1\n", OLD: "a"}
    moved_texts = {"requirements.txt": "--find-links=wheels\nmy-dep==2\n", NEW: "b"}

    with pytest.raises(BuildError, match="cannot install from it"):
        commands(files, {"requirements/base.txt": files["requirements/base.txt"], NEW: "b"})
    _, head = commands(
        {"requirements.txt": "--find-links=wheels\nmy-dep==1\n", OLD: "a"}, moved_texts
    )

    forced = "pip install --force-reinstall --no-deps --find-links wheels my-dep==2"
    assert head == f"pip install -r requirements.txt && {forced}"


@pytest.mark.parametrize("requirements", ["-f other\nmy-dep\n", "-f wheels\nother\n", "my-dep\n"])
def test_a_new_wheel_that_no_requirement_finds_is_refused(requirements):
    files = {"requirements.txt": requirements}

    with pytest.raises(BuildError, match=r"wheels/My_Dep.* changed, and perfledger cannot install"):
        commands(files, files | {NEW: "b"})

import pytest

from perfledger_runners.checkouts.dependency_files import (
    NOTHING_DECLARED,
    DeclaredDependencies,
    LockedPackage,
    ProjectBuild,
    declared_archives,
    declared_dependencies,
    is_dependency_file,
    is_lock,
    is_uncompiled,
    locked_packages,
    project_build,
)

PYPROJECT = b"""
[project]
version = "%d"
dependencies = ["torch>=2"]
optional-dependencies.gpu = ["flash-attn==2.5"]
[dependency-groups]
dev = ["ruff", {include-group = "test"}]
[tool.perfledger]
paths = ["%d"]
"""
POETRY_LOCK = """
[[package]]
name = "Zope.Interface"
version = "1.2"
description = "interfaces"
groups = ["main"]
files = [
    {file = "zope.interface-1.2.tar.gz", hash = "sha256:0"},
]

[package.dependencies]
version = "*"

[[package]]
name = "mine"
version = "2.0"
optional = false

[package.source]
type = "git"
url = "https://x/mine.git"
reference = "main"
resolved_reference = "abc"

[metadata]
lock-version = "2.1"
"""
PDM_LOCK = """
[[package]]
name = "mine"
version = "2.0"
requires_python = ">=3.9"
git = "https://x/mine.git"
revision = "abc"
summary = ""
"""
LOCK = """version = 1

[[package]]
name = "numpy"
version = "2.0"
source = { registry = "https://pypi.org/simple" }

[[package]]
name = "numpy"
version = "1.0"
source = { registry = "https://pypi.org/simple" }
resolution-markers = ["python_version < '3.9'"]

[[package]]
name = "mine"
source = { virtual = "." }
"""


@pytest.mark.parametrize(
    ("path", "is_known", "is_pinned"),
    [
        ("uv.lock", True, True),
        ("sub/environment.yml", True, True),
        ("environment-gpu.yaml", True, True),
        ("ci/environment_cuda.12.yml", True, True),
        ("conda-env.yml", True, True),
        ("conda-lock.yaml", True, True),
        ("gpu.conda-lock.yml", True, True),
        ("conda-linux-64.lock", True, True),
        ("constraints.txt", True, True),
        ("upper-constraints.txt", True, True),
        ("requirements-gpu.txt", True, False),
        ("gpu-requirements.txt", True, False),
        ("requirements-dev.lock", True, False),
        ("requirements/cuda.txt", True, False),
        ("sub/pyproject.toml", True, False),
        ("setup.py", True, False),
        ("pixi.toml", True, False),
        ("notes.txt", False, False),
        ("norequirements.txt", False, False),
        ("binder/requirements.txt", False, False),
        ("docs/environment-docs.yml", False, True),
        ("my_environments.yml", False, False),
        ("tests/requirements.txt", False, False),
        ("third_party/x/setup.py", False, False),
    ],
)
def test_files_that_say_what_is_installed(path, is_known, is_pinned):
    assert (is_dependency_file(path), is_lock(path)) == (is_known, is_pinned)


@pytest.mark.parametrize(
    ("path", "others", "is_source"),
    [
        ("requirements.in", [], True),
        ("requirements/gpu.in", ["requirements/cpu.txt"], True),
        ("requirements.in", ["requirements.txt"], False),
        ("kernel.c.in", [], False),
        ("docs/requirements.in", [], False),
    ],
)
def test_requirements_that_nobody_compiled_are_what_pip_reads(path, others, is_source):
    assert is_uncompiled(path, [path, *others]) is is_source


@pytest.mark.parametrize("path", ["environment.yml", "env.yml", "environment-gpu.yaml"])
def test_a_file_of_conda_declares_its_text_without_comments(path):
    text = "name: x\ndependencies:\n  - pytorch=2.12  # the oldest\n  - pip:\n    - a#egg=b\n"
    cleaned = "name: x\ndependencies:\n  - pytorch=2.12\n  - pip:\n    - a#egg=b\n"

    declared = declared_dependencies(path, b"# Of GPUs.\n\n" + text.encode())

    assert declared == declared_dependencies(path, cleaned.encode()) != NOTHING_DECLARED
    assert declared != declared_dependencies(path, text.replace("2.12", "2.13").encode())


@pytest.mark.parametrize("text", ["services:\n  web: {}\n", "a:\n  dependencies: [b]\n"])
def test_a_file_that_only_sounds_like_one_of_conda_declares_nothing(text):
    assert declared_dependencies("environment-prod.yaml", text.encode()) == NOTHING_DECLARED


def test_requirements_are_lines_without_comments_and_with_what_is_continued():
    text = b"# pins\n-f wheels\n-r other.txt\ntorch==2.1 \\\n  --hash=sha256:a  # why\n\nurl#egg\n"

    assert declared_dependencies("requirements.txt", text) == DeclaredDependencies(
        requirements=("torch==2.1    --hash=sha256:a", "url#egg"),
        options=("-f wheels",),
        rest="-r other.txt",
    )


def test_a_projects_requirements_are_also_those_of_extras_and_groups():
    first, second = (
        declared_dependencies("a/pyproject.toml", PYPROJECT % (number, number)) for number in (1, 2)
    )

    assert first == second
    assert first.requirements == ("torch>=2", "flash-attn==2.5", "ruff")


@pytest.mark.parametrize(
    "text",
    [
        "[tool.pdm.dev-dependencies]\nbench = ['a', 'b']",
        "[tool.flit.metadata]\nrequires = ['a', 'b']",
        "[tool.hatch.envs.bench]\ndependencies = ['a']\nextra-dependencies = ['b']\ncommand = 'c'",
        "[tool.uv]\ndev-dependencies = ['a', 'b']",
    ],
)
def test_a_projects_requirements_are_also_those_of_its_tools(text):
    assert declared_dependencies("pyproject.toml", text.encode()).requirements == ("a", "b")


@pytest.mark.parametrize(
    "text",
    [
        "[tool.uv.sources]\ntorch = {{ index = 'cu{}' }}",
        "[[tool.uv.index]]\nurl = 'https://a/{}'",
        "[tool.uv]\noverride-dependencies = ['torch=={}']",
        "[tool.uv]\nconstraint-dependencies = ['torch=={}']",
        "[tool.poetry.dev-dependencies]\ntorch = '{}'",
        "[[tool.poetry.source]]\nurl = 'https://a/{}'",
        "[tool.pixi.dependencies]\ntorch = '{}'",
        "[tool.pixi.feature.gpu.pypi-dependencies]\ntorch = '{}'",
    ],
)
def test_what_the_tools_of_a_project_install_is_declared(text):
    first, second = (declared_dependencies("pyproject.toml", text.format(n).encode()) for n in "12")

    assert first != second


@pytest.mark.parametrize(("table", "number"), [("tasks", 1), ("dependencies", 2)])
def test_what_pixi_installs_is_declared_in_its_own_file_too(table, number):
    texts = (f"[{table}]\na = '{each}'".encode() for each in "12")

    assert len({declared_dependencies("pixi.toml", text).rest for text in texts}) == number


@pytest.mark.parametrize(
    "text",
    [
        b"= =",
        b"[tool.pixi.tasks]\na = 'b'",
        b"[tool.uv]\npackage = false",
        b"[tool.perfledger]\npaths = ['a']",
        b"[tool.ruff]\nline-length = 1",
    ],
)
def test_a_project_file_without_requirements_declares_as_much_as_none(text):
    assert declared_dependencies("pyproject.toml", text) == NOTHING_DECLARED


def test_how_a_project_is_compiled_is_declared_too():
    texts = (b"[tool.scikit-build]\ncmake.args = ['-O%d']" % level for level in (0, 3))

    assert len({declared_dependencies("pyproject.toml", text).rest for text in texts}) == 2


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("pyproject.toml", '[project.entry-points."mine.kernels"]\nbest = "mine.{}:work"'),
        ("pyproject.toml", '[project.scripts]\nmine = "mine.{}:main"'),
        ("pyproject.toml", '[tool.poetry.plugins."mine.kernels"]\nbest = "mine.{}:work"'),
        ("setup.cfg", "[options.entry_points]\nmine.kernels =\n  best = mine.{}:work\n"),
    ],
)
def test_what_installed_packages_name_for_import_is_declared(path, text):
    fast, slow = (declared_dependencies(path, text.format(each).encode()) for each in "ab")

    assert fast != slow


def test_a_setup_file_is_the_same_without_its_comments_and_its_version():
    setup = "setup(version='{}', install_requires=['numpy'], ext_modules=[Extension('a', {})])"
    texts = [setup.format(1, []), f"# new\n{setup.format(2, [])}", setup.format(1, ["a.c"])]

    first, second, third = (declared_dependencies("setup.py", text.encode()) for text in texts)

    assert first == second != third
    assert first.requirements == ("numpy",)
    assert declared_dependencies("setup.py", b"setup(").rest == "setup("


def test_a_setup_cfg_declares_its_options_and_nothing_else():
    text = "[options]\ninstall_requires =\n  numpy\n[options.extras_require]\ngpu = torch\n"

    declared = declared_dependencies("setup.cfg", text.encode())

    assert declared == DeclaredDependencies(requirements=("numpy", "torch"))
    assert declared_dependencies("setup.cfg", b"[flake8]\nmax = 1") == NOTHING_DECLARED
    assert declared_dependencies("setup.cfg", b"[build_ext]\nflags = -O0").rest
    assert declared_dependencies("setup.cfg", b"broken").rest == "broken"


def test_locked_packages_have_all_their_versions_and_sources():
    packages = locked_packages(LOCK)

    assert list(packages) == ["numpy", "mine"]
    assert len(packages["numpy"].versions) == 2
    assert packages["mine"] == LockedPackage(sources=frozenset({'source = { virtual = "." }'}))


def test_a_lock_of_poetry_names_versions_and_sources():
    packages = locked_packages(POETRY_LOCK)

    assert packages == {
        "zope-interface": LockedPackage(versions=frozenset({"1.2"})),
        "mine": LockedPackage(
            versions=frozenset({"2.0"}),
            sources=frozenset(
                {
                    'type = "git"',
                    'url = "https://x/mine.git"',
                    'reference = "main"',
                    'resolved_reference = "abc"',
                }
            ),
        ),
    }


def test_a_lock_of_pdm_names_versions_and_sources():
    assert locked_packages(PDM_LOCK)["mine"] == LockedPackage(
        versions=frozenset({"2.0"}),
        sources=frozenset({'git = "https://x/mine.git"', 'revision = "abc"'}),
    )


@pytest.mark.parametrize(
    ("pyproject", "setup", "build"),
    [
        (None, None, ProjectBuild()),
        (b"[tool.ruff]\nline-length = 1", None, ProjectBuild()),
        (b"[project]\nname = 'a'", None, ProjectBuild(is_installable=True)),
        (b"[tool.poetry]\nname = 'a'", None, ProjectBuild(is_installable=True)),
        (b"[project]\nname = 'a'\n[tool.poetry]\npackage-mode = false", None, ProjectBuild()),
        (None, b"setup()", ProjectBuild(is_installable=True)),
        (
            b"[build-system]\nbuild-backend = 'maturin'",
            None,
            ProjectBuild(is_installable=True, is_compiled=True),
        ),
        (
            None,
            b"setup(ext_modules=cythonize('a.pyx'))",
            ProjectBuild(is_installable=True, is_compiled=True),
        ),
        (
            None,
            b"from torch.utils.cpp_extension import CUDAExtension\nsetup(e=[CUDAExtension('a')])",
            ProjectBuild(is_installable=True, is_compiled=True, needs_installed=True),
        ),
        (
            b"[build-system]\nrequires = ['torch']",
            b"from torch.utils.cpp_extension import CppExtension\nsetup(e=[CppExtension('a')])",
            ProjectBuild(is_installable=True, is_compiled=True),
        ),
    ],
)
def test_how_a_project_is_installed(pyproject, setup, build):
    assert project_build(pyproject, setup) == build


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("requirements.txt", "numpy\n./{}"),
        ("requirements.txt", "{}[gpu] ; python_version < '4'"),
        ("requirements/gpu.txt", "a @ file:vendor/{}#sha256=0"),
        ("pyproject.toml", "[tool.uv.sources]\na = {{ path = '../vendor/{}' }}"),
        ("pyproject.toml", "dependencies = ['a @ file:///${{ROOT}}/vendor/{}']"),
        ("environment.yml", "  - pip:\n    - vendor/{}"),
    ],
)
@pytest.mark.parametrize("name", ["a-1.whl", "a-1.tar.gz", "a-1.zip"])
def test_an_archive_that_a_requirement_names_is_named(file, text, name):
    archives = [f"vendor/{name}", f"other/{name}", f"vendor/b{name}", f"tests/{name}"]

    declared = declared_archives(
        dict.fromkeys([*archives, "a.py"], "hash"), {file: text.format(name).encode()}
    )

    named = [path for path, each in declared.items() if each.archive]
    is_with_folder = f"vendor/{name}" in text.format(name)
    assert named == [f"vendor/{name}", f"other/{name}"][: 1 if is_with_folder else 2]


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("requirements.txt", "./vendor/metadata.zip"),
        ("requirements.txt", "./vendor/data.zip.asc\n./vendor/data.zip-2.whl"),
        ("requirements.txt", "numpy  # in place of data.zip"),
        ("pyproject.toml", "[tool.setuptools.package-data]\nmine = ['data.zip']"),
        ("setup.py", "setup(package_data={'mine': ['data.zip']})"),
        ("setup.cfg", "[options.package_data]\nmine = data.zip"),
    ],
)
def test_data_and_longer_names_are_no_archives_to_install(file, text):
    assert declared_archives({"src/mine/data.zip": "hash"}, {file: text.encode()}) == {}


def test_a_wheel_that_no_file_names_is_a_dependency_without_a_requirement():
    paths = ("wheels/a-1-py3-none-any.whl", "wheels/a-1.zip", "tests/data/b.whl")

    declared = declared_archives(
        dict.fromkeys(paths, "hash"), {"requirements.txt": b"-f wheels\na"}
    )

    assert declared == {"wheels/a-1-py3-none-any.whl": DeclaredDependencies(rest="hash")}


@pytest.mark.parametrize(
    ("lines", "marker"),
    [
        ("./libs/a.whl", ""),
        ("./libs/a.whl ; os_name == 'nt' --hash=sha256:0", "; (os_name == 'nt')"),
        ("./libs/a.whl; os_name == 'nt'\n./libs/a.whl", ""),
        ("./libs/a.whl; p == '1'\n./libs/a.whl; p == '2'", "; (p == '1') or (p == '2')"),
    ],
)
def test_an_archive_is_required_where_the_files_that_name_it_say(lines, marker):
    (archive,) = declared_archives(
        {"libs/a.whl": ""}, {"requirements.txt": lines.encode()}
    ).values()

    assert archive.archive == f"./libs/a.whl{marker}"


def test_an_archive_is_the_same_whether_a_file_names_it_or_not():
    hashes = {"libs/a.whl": "hash"}

    assert declared_archives(hashes, {}) == declared_archives(
        hashes, {"requirements.txt": b"./libs/a.whl"}
    )

import pytest

from perfledger_runners.checkouts.package_layout import (
    ASIDE,
    extension_names,
    import_folders,
    is_within,
    join,
    project_folders,
    renamed_packages,
    table,
)

USUAL = {".", "src", "python", "lib", "py"}


def folders_of(**files):
    """Return the folders that one project's files name, besides the usual ones."""
    contents = {name.replace("__", "."): text.encode() for name, text in files.items()}
    return import_folders(contents.keys(), (".",), contents.get) - USUAL


def test_a_folder_with_a_project_file_is_a_project_and_the_top_always_is():
    paths = ("packages/a/pyproject.toml", "packages/b/setup.py", "packages/c/a.py")

    assert project_folders(paths) == (".", "packages/a", "packages/b")


def test_copies_of_other_projects_and_examples_are_no_projects():
    paths = ("third_party/numpy/setup.py", "examples/small/pyproject.toml", "tests/x/setup.cfg")

    assert project_folders(paths) == (".",)


def test_the_usual_folders_of_every_project_hold_packages():
    folders = import_folders((), (".", "packages/a"), lambda _: None)

    assert folders == USUAL | {join("packages/a", name) for name in USUAL}


@pytest.mark.parametrize(
    "text",
    [
        '[tool.setuptools.package-dir]\n"" = "code"',
        '[tool.setuptools.packages.find]\nwhere = ["code"]',
        '[tool.maturin]\npython-source = "code"',
        '[tool.uv.build-backend]\nmodule-root = "code"',
        '[tool.pdm.build]\npackage-dir = "code"',
        '[[tool.poetry.packages]]\ninclude = "mypkg"\nfrom = "code"',
        '[tool.hatch.build.targets.wheel]\npackages = ["code/mypkg"]',
        '[tool.scikit-build]\nwheel.packages = ["code/mypkg"]',
    ],
)
def test_every_build_backends_word_for_the_folder_is_understood(text):
    assert folders_of(pyproject__toml=text) == {"code"}


@pytest.mark.parametrize(
    "text",
    [
        "setup(package_dir={'': 'code'})",
        "setup(packages=find_packages('code'))",
        "setuptools.setup(packages=setuptools.find_packages(where='code'))",
    ],
)
def test_a_setup_file_is_read_and_not_run(text):
    assert folders_of(setup__py=f"raise SystemExit\n{text}") == {"code"}


@pytest.mark.parametrize(
    "text",
    [
        "[options]\npackage_dir =\n    = code\n",
        "[options]\npackage_dir = =code\n",
        "[options.packages.find]\nwhere = code\n",
        "[options.packages.find]\nwhere =\n    code\nname = other\n",
    ],
)
def test_a_setup_cfg_is_read(text):
    assert folders_of(setup__cfg=text) == {"code"}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("pyproject.toml", '[tool.setuptools.package-dir]\nmypkg = "impl"'),
        ("pyproject.toml", '[tool.hatch.build.targets.wheel.sources]\nimpl = "mypkg"'),
        ("pyproject.toml", '[tool.hatch.build.targets.wheel.force-include]\nimpl = "mypkg"'),
        ("setup.py", "setup(package_dir={'': 'src', 'mypkg': 'impl', **more})"),
        ("setup.cfg", "[options]\npackage_dir =\n    = src\n    mypkg = impl\n"),
    ],
)
def test_a_package_may_be_installed_under_another_name(name, text):
    path = f"lib/{name}"

    found_renamed_packages = renamed_packages((path,), (".", "lib"), lambda _: text.encode())

    assert found_renamed_packages == {"lib/impl": ("mypkg", "lib")}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("pyproject.toml", '[tool.setuptools.package-dir]\nmypkg = "src/mypkg"'),
        ("pyproject.toml", "[tool.setuptools.package-dir]\nmypkg = 3"),
        ("pyproject.toml", '[tool.hatch.build.targets.wheel.force-include]\n"a.json" = "p/a.json"'),
        ("pyproject.toml", "not = = toml"),
        ("setup.py", "setup(package_dir=compute(), where=3)"),
        ("setup.py", "def ("),
        ("setup.cfg", "= ="),
        ("setup.cfg", "[options]\npackage_dir = =src"),
    ],
)
def test_a_package_with_its_folders_name_is_not_renamed(name, text):
    assert renamed_packages((name,), (".",), lambda _: text.encode()) == {}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("pyproject.toml", "not = = toml"),
        ("pyproject.toml", "tool = 3"),
        ("pyproject.toml", "[tool]\nsetuptools = []\npoetry.packages = [3]\nhatch = 'x'"),
        ("pyproject.toml", "\x00"),
        ("setup.py", "def ("),
        ("setup.py", "setup(package_dir=compute(), where=3)"),
        ("setup.py", "\x00"),
        ("setup.cfg", "where\n="),
    ],
)
def test_a_broken_file_names_nothing(name, text):
    assert import_folders((name,), (".",), lambda _: text.encode()) == USUAL


def test_names_of_extensions_are_the_literal_ones():
    text = b"""
ext = [CUDAExtension(name="flash_attn_2_cuda", sources=[]), Extension("mypkg._C", ["a.c"]),
       Extension(NAME, []), print("no")]
"""
    assert extension_names(text) == {"flash_attn_2_cuda", "mypkg._C"}
    assert extension_names(b"def (") == set()


def test_a_file_lies_within_its_folders_and_not_within_its_own_name():
    assert is_within("a/tests/b.py", ASIDE)
    assert not is_within("a/tests", ASIDE)


def test_a_missing_table_is_empty():
    assert table({"a": {"b": {"c": 1}}}, "a", "b") == {"c": 1}
    assert table({"a": 3}, "a", "b") == table(None) == {}

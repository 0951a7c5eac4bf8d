import pytest

from perfledger_runners.checkouts.included_requirements import included_files

DYNAMIC = """
[tool.setuptools.dynamic]
dependencies = {file = ["deps.in"]}
optional-dependencies.gpu = {file = "gpu/deps.in"}
version = {file = "VERSION"}
"""
SETUP = "setup(install_requires=open('deps.in').read(), long_description=read('README', 'VERSION'))"


def included(files, *declaring):
    contents = {path: text.encode() for path, text in files.items()}
    return list(
        included_files({path: contents[path] for path in declaring}, files, contents.__getitem__)
    )


@pytest.mark.parametrize(
    ("path", "text", "names"),
    [
        ("requirements.txt", "-r pins/run.list\n--constraint=all.lst\n# -r no.txt\n", 2),
        ("requirements/all.txt", "-r ../pins/run.list\n  -c ../all.lst", 2),
        ("pyproject.toml", DYNAMIC, 2),
        ("setup.py", SETUP, 1),
        ("requirements.txt", "run\n-r missing.txt", 0),
        ("pyproject.toml", "[", 0),
        ("setup.py", "(", 0),
    ],
)
def test_files_that_a_dependency_file_includes_are_found(path, text, names):
    others = ("pins/run.list", "all.lst", "deps.in", "gpu/deps.in", "VERSION", "README", "no.txt")
    files = {path: text, **dict.fromkeys(others, "a")}

    assert len(included(files, path)) == names
    assert not {"VERSION", "README", "no.txt"} & set(included(files, path))


def test_files_that_include_each_other_are_found_once():
    files = {"requirements.txt": "-r a.list", "a.list": "-r b.list", "b.list": "-r a.list"}

    assert included(files, "requirements.txt") == ["a.list", "b.list"]

import subprocess

import pytest

from perfledger_service.errors import UsageError
from perfledger_service.usecases.check.init import write_setup
from perfledger_service.usecases.inputs.repository_config import configured_table

IDENTITY = ("-c", "user.name=test", "-c", "user.email=test@example.invalid")
EVERY_FILE = ["perfledger.toml", "benchmarks/example.py", ".github/workflows/perfledger.yml"]


@pytest.fixture
def repository(tmp_path):
    """Return a function that commits files, by path, on a branch, and returns the top folder."""

    def repository(files, *, branch="main"):
        for name, text in files.items():
            file = tmp_path / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        for arguments in (("init", "-q", "-b", branch), ("add", "-A"), ("commit", "-qm", "a")):
            subprocess.run(["git", *IDENTITY, *arguments], cwd=tmp_path, check=True)
        return tmp_path

    return repository


def test_an_empty_repository_gets_a_configuration_a_workload_and_a_workflow(tmp_path):
    setup = write_setup(tmp_path)

    assert [(one.path, one.is_new) for one in setup.files] == [(name, True) for name in EVERY_FILE]
    found_configured_table = configured_table(tmp_path)
    assert found_configured_table is not None
    assert (found_configured_table[0], found_configured_table[1]["paths"]) == (
        "perfledger.toml",
        ["benchmarks"],
    )


def test_what_is_there_is_left_alone(tmp_path):
    (tmp_path / "pyproject.toml").write_text("[tool.perfledger]\nmargin = 0.05\n")
    (tmp_path / "benchmarks").mkdir()
    (tmp_path / "benchmarks" / "mine.py").write_text("")

    files = write_setup(tmp_path).files

    assert [(one.path, one.is_new) for one in files[:2]] == [
        ("pyproject.toml", False),
        ("benchmarks", False),
    ]
    assert not (tmp_path / "perfledger.toml").exists()


@pytest.mark.parametrize(
    ("paths", "example"),
    [('["perf"]', "perf/example.py"), ('["work.py"]', "work.py"), ("[]", "benchmarks/example.py")],
)
def test_the_example_stands_where_the_configuration_looks_for_it(tmp_path, paths, example):
    (tmp_path / "perfledger.toml").write_text(f"paths = {paths}\n")

    files = write_setup(tmp_path).files

    assert (files[1].path, files[1].is_new) == (example, True)
    assert (tmp_path / example).is_file()


def test_a_link_that_leads_nowhere_is_kept_and_nothing_is_written_through_it(tmp_path):
    root = tmp_path / "repository"
    root.mkdir()
    (root / "perfledger.toml").symlink_to("../outside")

    assert not write_setup(root).files[0].is_new
    assert not (tmp_path / "outside").exists()


def test_nothing_is_written_outside_of_the_repository(tmp_path):
    root = tmp_path / "repository"
    root.mkdir()
    (tmp_path / "outside").mkdir()
    (root / "benchmarks").symlink_to("../outside")

    with pytest.raises(UsageError, match=r"benchmarks/example.py points outside"):
        write_setup(root)
    assert not any((tmp_path / "outside").iterdir())


def test_what_stands_in_the_way_and_a_missing_folder_are_errors(tmp_path):
    (tmp_path / "benchmarks").write_text("")

    with pytest.raises(UsageError, match=r"cannot write .*benchmarks/example.py: "):
        write_setup(tmp_path)
    with pytest.raises(UsageError, match="is not a folder"):
        write_setup(tmp_path / "absent")
    assert not (tmp_path / "absent").exists()


def test_the_files_fit_the_repository(repository):
    root = repository({"model.py": "import jax\n", "uv.lock": ""}, branch="master")

    write_setup(root)

    assert "import jax" in (root / "benchmarks" / "example.py").read_text()
    workflow = (root / ".github" / "workflows" / "perfledger.yml").read_text()
    assert "uv sync --frozen" in workflow
    assert 'branches: ["master"]' in workflow


def test_workloads_do_not_stand_among_benchmarks_of_another_tool(repository):
    root = repository({"benchmarks/sums.py": "def time_sum(): ...\n", "asv.conf.json": "{}"})

    setup = write_setup(root)

    assert setup.files[1].path == "workloads/example.py"
    found_configured_table = configured_table(root)
    assert found_configured_table is not None
    assert found_configured_table[1]["paths"] == ["workloads"]
    assert not any(one.is_new for one in write_setup(root).files)


def test_files_go_into_the_top_folder(repository):
    root = repository({"src/mine/__init__.py": ""})

    setup = write_setup(root / "src" / "mine")

    assert setup.root == root
    assert (root / "perfledger.toml").is_file()


def test_init_twice_changes_nothing(tmp_path):
    write_setup(tmp_path)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}

    assert not any(one.is_new for one in write_setup(tmp_path).files)
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before

import pytest

from perfledger_runners.checkouts.dependency_files import is_dependency_file, is_lock
from perfledger_runners.environments.lock_tool import CONDA_LOCKS, LOCK_TOOLS, conda_tool, lock_tool


@pytest.mark.parametrize("tool", LOCK_TOOLS, ids=lambda tool: tool.program)
def test_a_lock_file_at_the_top_chooses_its_tool(tool):
    assert lock_tool({"pyproject.toml", tool.lock}) is tool
    assert lock_tool({f"sub/{tool.lock}"}) is None


@pytest.mark.parametrize("tool", LOCK_TOOLS, ids=lambda tool: tool.program)
def test_a_change_of_the_lock_file_is_one_of_what_is_installed(tool):
    assert is_dependency_file(tool.lock)
    assert is_lock(tool.lock)


def test_the_first_of_several_lock_files_counts():
    assert lock_tool([tool.lock for tool in reversed(LOCK_TOOLS)]) is LOCK_TOOLS[0]


def test_the_tool_of_a_conda_environment_is_the_one_that_made_it(tmp_path):
    pixi, conda, plain_folder = (
        tmp_path / ".pixi" / "envs" / "gpu",
        tmp_path / "conda",
        tmp_path / "plain",
    )
    for each in (pixi, conda):
        (each / "conda-meta").mkdir(parents=True)
    files = ("pixi.lock", "environment.yaml")

    assert conda_tool(files, plain_folder) is None
    assert conda_tool(files, conda).lock == "environment.yaml"
    assert conda_tool(("pixi.lock",), conda) is None
    assert conda_tool(("environment.yml",), pixi) is None
    assert conda_tool(files, pixi).command.startswith("pixi install --frozen --environment gpu && ")


@pytest.mark.parametrize("name", CONDA_LOCKS)
def test_a_change_of_a_conda_file_is_one_of_what_is_installed(name):
    assert is_dependency_file(name)
    assert is_lock(name)

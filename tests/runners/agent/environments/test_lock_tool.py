import pytest

from perfledger_runners.checkouts.dependency_files import is_dependency_file, is_lock
from perfledger_runners.environments.lock_tool import LOCK_TOOLS, lock_tool


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

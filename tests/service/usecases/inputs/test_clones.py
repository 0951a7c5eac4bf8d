import pytest

from perfledger_service.errors import PerfledgerError, UsageError
from perfledger_service.usecases.inputs.clones import branch_of_clone
from tests.service.git_history import GitHistory


@pytest.fixture
def history(tmp_path):
    return GitHistory(tmp_path / "models")


def test_the_line_of_a_clone_has_its_merges_and_not_what_they_merged(history):
    first = history.commit()
    _, merge = history.merge(side_commits=3)

    assert branch_of_clone(history.folder) == (first, merge)


def test_a_shallow_clone_knows_no_order(history, tmp_path):
    history.commit()
    history.commit()
    history.git("clone", "-q", "--depth", "1", f"file://{history.folder}", str(tmp_path / "few"))

    with pytest.raises(UsageError, match="shallow clone"):
        branch_of_clone(tmp_path / "few")


def test_a_folder_without_a_repository_is_named(tmp_path):
    with pytest.raises(PerfledgerError):
        branch_of_clone(tmp_path)

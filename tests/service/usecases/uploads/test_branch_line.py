"""The walk along first parents, of a real repository over real HTTP."""

import pytest

from perfledger_service.github.api import GitHubApi
from perfledger_service.github.authentication import TokenAuthentication
from perfledger_service.github.client import GitHub
from perfledger_service.usecases.uploads import branch_line
from perfledger_service.usecases.uploads.branch_line import BranchLine, read_branch_lines
from tests.service.git_history import GitHistory, serving_history

REPOSITORY = "octo/models"


@pytest.fixture
def history(tmp_path):
    return GitHistory(tmp_path / "models")


@pytest.fixture
def commits(history):
    with serving_history(history) as url:
        api = GitHubApi(url)
        yield GitHub(api, TokenAuthentication(api, "ghp_x"))
        api.close()


def test_the_line_is_read_from_the_tip_to_the_last_wanted_commit(history, commits):
    line = [history.commit() for _ in range(20)]

    read = read_branch_lines(
        commits, REPOSITORY, known_commits=(), claimed_commits=[line[4], line[9]]
    )

    assert read == (BranchLine(tuple(line[4:]), is_newest=True),)


@pytest.mark.slow(ci_only=True)
def test_commits_of_merged_branches_are_not_on_the_line(history, commits):
    line, sides = [history.commit()], []
    for _ in range(6):
        side, merge = history.merge(side_commits=5)
        sides += side
        line.append(merge)

    read = read_branch_lines(
        commits, REPOSITORY, known_commits=(), claimed_commits=[line[0], sides[3]]
    )

    assert read == (BranchLine(tuple(line), is_newest=True),)


def test_dates_do_not_decide_the_order(history, commits):
    line = [history.commit(day=day) for day in (20, 3, 17, 1, 9, 9, 2, 11, 4, 8, 6, 19)]

    read = read_branch_lines(commits, REPOSITORY, known_commits=(), claimed_commits=[line[0]])

    assert read == (BranchLine(tuple(line), is_newest=True),)


@pytest.mark.slow(ci_only=True)
def test_only_what_is_new_is_read(history, commits):
    line = [history.commit() for _ in range(30)]
    known_lines = tuple(line[:28])
    history.requests.clear()

    read = read_branch_lines(
        commits, REPOSITORY, known_commits=known_lines, claimed_commits=[line[29], line[3]]
    )

    assert read == (BranchLine(tuple(line[27:]), is_newest=True),)
    assert history.requests.count("commits") == 1


def test_nothing_is_read_for_what_is_known(history, commits):
    line = [history.commit() for _ in range(3)]
    history.requests.clear()

    assert (
        read_branch_lines(commits, REPOSITORY, known_commits=tuple(line), claimed_commits=line)
        == ()
    )
    assert history.requests == [""]


@pytest.mark.slow(ci_only=True)
def test_a_backfill_before_the_oldest_known_commit_extends_the_line_backwards(history, commits):
    line = [history.commit() for _ in range(30)]
    known_lines = tuple(line[20:29])

    newest, oldest = read_branch_lines(
        commits, REPOSITORY, known_commits=known_lines, claimed_commits=[line[29], line[5]]
    )

    assert newest == BranchLine((line[28], line[29]), is_newest=True)
    assert oldest == BranchLine(tuple(line[5:21]), is_newest=False)


def test_a_commit_that_is_not_on_the_branch_leads_to_nothing(history, commits):
    history.commit()
    history.git("checkout", "-q", "-b", "topic")
    topic = history.commit()

    assert (
        read_branch_lines(commits, REPOSITORY, known_commits=(), claimed_commits=[topic, "f" * 40])
        == ()
    )


def test_a_rewritten_history_is_read_down_to_what_it_shares(history, commits):
    line = [history.commit() for _ in range(6)]
    history.git("reset", "-q", "--hard", line[3])
    rewritten = history.commit(day=50)

    read = read_branch_lines(
        commits, REPOSITORY, known_commits=tuple(line), claimed_commits=[rewritten]
    )

    assert read == (BranchLine((line[3], rewritten), is_newest=True),)


def test_a_walk_ends_at_its_limit_and_then_what_is_known_stays(history, commits, monkeypatch):
    monkeypatch.setattr(branch_line, "MAX_REQUESTS", 2)
    line = [history.commit() for _ in range(30)]

    assert (
        read_branch_lines(commits, REPOSITORY, known_commits=line[:1], claimed_commits=[line[29]])
        == ()
    )

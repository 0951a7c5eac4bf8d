"""Re-ordering a project: by GitHub, by the runners' git, and by a clone."""

import pytest

from perfledger.records import Revision
from perfledger_baselines.history.commits.confirmation_state import ConfirmationState
from perfledger_service.errors import NotFoundError, UsageError
from perfledger_service.store.confirmation_state import (
    confirmation_state_of,
    save_confirmation_state,
)
from perfledger_service.store.database import read_session, write_session
from perfledger_service.store.projects import project_named
from perfledger_service.usecases.people.audit import audit_log
from perfledger_service.usecases.uploads.reorder import reorder
from perfledger_service.values.people.person import Actor

LINE = tuple(f"{number:040x}" for number in range(1, 6))
REPOSITORY = "octo/models"


class LinearCommits:
    """GitHub, whose default branch is LINE."""

    def default_branch(self, repository):
        return f"main of {repository}"

    def is_ancestor(self, repository, sha, branch):
        return branch == self.default_branch(repository) and sha in LINE

    def first_parents(self, _, revision):
        tip = LINE.index(revision) if revision in LINE else len(LINE) - 1
        return dict(zip(LINE[tip::-1], (*LINE[:tip][::-1], ""), strict=True))


@pytest.fixture
def claimed(engine, judged, make_bundle):
    """Judge checks of the branch's commits, the newest first, whose claims nobody attests."""
    for number in (4, 2):
        base, head = (Revision(sha=LINE[at], depth=at) for at in (number - 1, number))
        bundle = make_bundle(pull_request=None, seed=number, pairs=4, base=base, head=head)
        judged(engine, bundle, upload_id=f"{number:032x}")


def trust(engine):
    with read_session(engine) as session:
        return project_named(session, REPOSITORY).trust_runners


@pytest.mark.usefixtures("claimed")
@pytest.mark.parametrize(
    ("source", "values"),
    [
        ("GitHub", {"commits": LinearCommits()}),
        ("the clone", {"commits": None, "line": LINE}),
        ("the runners", {"commits": None, "trust_runners": True}),
    ],
)
def test_every_claimed_commit_takes_its_place(engine, source, values):
    order = reorder(engine, REPOSITORY, **values)

    assert (order.source, order.commits) == (source, LINE[1:])
    assert (order.moved_commits, order.unattested) == (4, ())
    assert reorder(engine, REPOSITORY, **values).moved_commits == 0


@pytest.mark.usefixtures("claimed")
def test_a_commit_that_the_source_does_not_have_is_unattested(engine):
    order = reorder(engine, REPOSITORY, commits=None, line=LINE[:4])

    assert (order.commits, order.unattested) == (LINE[1:4], (LINE[4],))


@pytest.mark.usefixtures("claimed")
def test_the_audit_log_says_who_trusts_the_runners(engine):
    for is_trusted in (True, True, False):
        reorder(
            engine,
            REPOSITORY,
            commits=LinearCommits(),
            trust_runners=is_trusted,
            actor=Actor(name="ada"),
        )

    entries = audit_log(engine, repository=REPOSITORY, most=9)
    assert [(one.actor, one.detail) for one in entries[:2]] == [
        ("ada", "its runners are not trusted"),
        ("ada", "its runners are trusted"),
    ]
    assert [one.actor for one in entries].count("ada") == 2


@pytest.mark.usefixtures("claimed")
def test_trust_is_set_and_taken_back(engine):
    reorder(engine, REPOSITORY, commits=None, trust_runners=True)
    assert trust(engine)

    order = reorder(engine, REPOSITORY, commits=LinearCommits(), trust_runners=False)

    assert not trust(engine)
    assert order.source == "GitHub"


@pytest.mark.usefixtures("claimed")
def test_suspects_are_searched_anew_only_where_the_order_changed(engine):
    reorder(engine, REPOSITORY, commits=LinearCommits())
    state = ConfirmationState(window="2026-11-20", pairs=3)
    with write_session(engine) as session:
        save_confirmation_state(session, 1, state)
        session.commit()

    reorder(engine, REPOSITORY, commits=LinearCommits())
    with read_session(engine) as session:
        assert confirmation_state_of(session, 1) == state

    reorder(engine, REPOSITORY, commits=None, line=LINE[::-1])
    with read_session(engine) as session:
        assert confirmation_state_of(session, 1) == ConfirmationState()


@pytest.mark.usefixtures("claimed")
def test_without_any_source_the_command_says_which_there_are(engine):
    with pytest.raises(UsageError, match="--clone, or trust the runners with --trust runners"):
        reorder(engine, REPOSITORY, commits=None)


def test_an_unknown_project_is_named(engine):
    with pytest.raises(NotFoundError, match="octo/models is not a project"):
        reorder(engine, REPOSITORY, commits=None)

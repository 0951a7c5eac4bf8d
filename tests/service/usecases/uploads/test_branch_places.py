"""Whose word on the default branch is believed: GitHub's, or that of trusted runners."""

from dataclasses import replace

import pytest

from perfledger.records import Revision
from perfledger_service.errors import GitHubError
from perfledger_service.github.api import GitHubApi
from perfledger_service.github.authentication import TokenAuthentication
from perfledger_service.github.client import GitHub
from perfledger_service.store.database import read_session, write_session
from perfledger_service.store.default_branch import (
    branch_series,
    commits_of_branch,
    unplaced_commits,
)
from perfledger_service.store.heads.merge_groups import MergeGroup, put_merge_group
from perfledger_service.store.projects import project_for
from perfledger_service.store.uploads import verdicts_of
from perfledger_service.usecases.uploads.branch_places import (
    claimed_places,
    claimed_revisions,
    find_places,
)
from perfledger_service.values.upload_views import UploadSender
from tests.service.git_history import GitHistory, serving_history


class DownCommits:
    """GitHub, which does not answer."""

    def default_branch(self, repository):
        raise GitHubError(repository, is_transient=True)

    def is_ancestor(self, repository, _sha, _branch):
        return self.default_branch(repository)

    def first_parents(self, repository, _revision):
        return self.default_branch(repository)


@pytest.fixture
def history(tmp_path):
    return GitHistory(tmp_path / "models")


@pytest.fixture
def commits(history):
    with serving_history(history) as url:
        api = GitHubApi(url)
        yield GitHub(api, TokenAuthentication(api, "ghp_x"))
        api.close()


@pytest.fixture
def upload(any_engine, judged, make_bundle):
    """Judge the upload of a base and a head, by the word that the test gives."""
    uploads = []

    def upload(base, head, *, pull_request=None, commits=None, **values):
        uploads.append(base)
        bundle = make_bundle(
            pairs=4,
            samples=2,
            seed=len(uploads),
            base=base if isinstance(base, Revision) else Revision(sha=base),
            head=head if isinstance(head, Revision) else Revision(sha=head),
            pull_request=pull_request,
        )
        return judged(
            any_engine, bundle, upload_id=f"{len(uploads):032x}", commits=commits, **values
        )

    return upload


def commits_at(engine):
    with read_session(engine) as session:
        return commits_of_branch(session, 1)


def test_pull_requests_with_old_and_new_merge_bases_stand_in_githubs_order(
    any_engine, upload, history, commits
):
    line = [history.commit() for _ in range(9)]
    upload(line[7], "e" * 40, pull_request=8, commits=commits)
    upload(line[2], "d" * 40, pull_request=7, commits=commits)
    upload(line[4], line[5], commits=commits)

    assert commits_at(any_engine) == (line[2], line[4], line[5], line[7])


def test_a_commit_of_a_topic_that_is_claimed_to_be_the_branchs_is_in_no_baseline(
    any_engine, upload, history, commits
):
    line = [history.commit() for _ in range(3)]
    history.git("checkout", "-q", "-b", "topic")
    fast = history.commit()
    stored = upload(line[2], fast, commits=commits)

    with read_session(any_engine) as session:
        assert commits_of_branch(session, 1) == (line[2],)
        assert unplaced_commits(session, 1) == (fast,)
        assert {len(one.values) for one in branch_series(session, 1)} == {1}
        assert verdicts_of(session, stored.id) != ()


@pytest.mark.parametrize("ending", ["", "dequeued", "merged"])
def test_a_merge_groups_head_is_of_the_branch_once_it_is_merged(
    any_engine, judged_on_branch, make_bundle, now, ending
):
    bundle = make_bundle(pull_request=None)
    judged_on_branch(any_engine, make_bundle(seed=1, head=Revision(sha="c" * 40)))
    group = MergeGroup(
        head_sha=bundle.head.sha, base_sha=bundle.base.sha, pull_request=7, ending=ending
    )
    with write_session(any_engine) as session:
        put_merge_group(session, 1, group, now=now)
        session.commit()
    judged_on_branch(any_engine, bundle, upload_id="2" * 32)

    is_of_branch = bundle.head.sha in commits_at(any_engine)
    assert is_of_branch == (ending == "merged")


@pytest.fixture
def queue(any_engine, now):
    """Store a merge group that no webhook says to be merged."""

    def queue(head_sha, base_sha):
        group = MergeGroup(head_sha=head_sha, base_sha=base_sha, pull_request=7)
        with write_session(any_engine) as session:
            project = project_for(session, "octo/models", now=now)
            put_merge_group(session, project.id, group, now=now)
            session.commit()

    return queue


def test_a_merge_groups_head_is_of_the_branch_by_githubs_word_alone(
    any_engine, upload, queue, history, commits
):
    line = [history.commit() for _ in range(3)]
    queue(line[1], line[0])
    upload(line[1], "e" * 40, pull_request=8, commits=commits)

    assert commits_at(any_engine) == (line[1],)


def test_a_merge_groups_head_that_github_does_not_merge_is_not_asked_for_again(
    any_engine, upload, queue, history, commits
):
    line = [history.commit() for _ in range(2)]
    history.git("checkout", "-q", "-b", "queued")
    queued = history.commit()
    history.git("checkout", "-q", "-")
    queue(queued, line[1])
    upload(line[1], queued, commits=commits)

    with read_session(any_engine) as session:
        assert commits_of_branch(session, 1) == (line[1],)
        assert unplaced_commits(session, 1) == ()


def test_a_run_of_the_branch_attests_that_a_merge_group_was_merged(
    any_engine, received, queue, make_bundle
):
    base, head = Revision(sha="c" * 40, depth=1), Revision(sha="d" * 40, depth=2)
    queue(head.sha, base.sha)
    bundle = make_bundle(base=base, head=head, pull_request=None)
    stored = received(any_engine, bundle)
    for sender, expected in (
        (UploadSender.RUNNER, (base,)),
        (UploadSender.BRANCH_RUN, (base, head)),
    ):
        branch_places = find_places(
            any_engine, replace(stored, sender=sender), bundle, commits=None
        )
        assert branch_places.claimed == expected


def test_without_github_or_trust_a_claim_is_only_kept(any_engine, upload):
    upload("a" * 40, "b" * 40)

    with read_session(any_engine) as session:
        assert commits_of_branch(session, 1) == ()
        assert set(unplaced_commits(session, 1)) == {"a" * 40, "b" * 40}


def test_what_github_did_not_answer_is_asked_again_with_the_next_upload(
    any_engine, upload, history, commits
):
    line = [history.commit() for _ in range(4)]
    upload(line[0], line[1], commits=DownCommits())

    assert commits_at(any_engine) == ()

    upload(line[2], line[3], commits=commits)

    assert commits_at(any_engine) == tuple(line)


def test_a_rewritten_branch_drops_the_commits_that_it_no_longer_has(
    any_engine, upload, history, commits
):
    line = [history.commit() for _ in range(4)]
    upload(line[2], line[3], commits=commits)
    history.git("reset", "-q", "--hard", line[2])
    new = history.commit(day=99)
    upload(line[2], new, commits=commits)

    assert commits_at(any_engine) == (line[2], new)


def test_a_pull_request_claims_its_base_alone(make_bundle):
    bundle = make_bundle()
    dirty = replace(bundle, pull_request=None, head=replace(bundle.head, is_dirty=True))

    assert claimed_revisions(bundle) == claimed_revisions(dirty) == (bundle.base,)
    assert claimed_revisions(replace(bundle, pull_request=None)) == (bundle.base, bundle.head)


def test_a_shallow_clone_knows_no_place():
    shallow, full = Revision(sha="a" * 40), Revision(sha="b" * 40, depth=0)

    assert claimed_places((shallow, full)) == {"b" * 40: 0}

"""The demo's way with real processes: git, the command line, GitHub's stand-in and the service."""

import json
from types import SimpleNamespace

import pytest

# `make demo` itself; the tests of the command line and of the service show each step.
pytestmark = pytest.mark.slow(ci_only=True)


@pytest.fixture(scope="module")
def checked(demo, make_spinning, branch, tmp_path_factory):
    """A repository whose branch was really checked with a service's history, and the service."""
    folder = tmp_path_factory.mktemp("checked")
    repository = make_spinning(folder / "repository")
    with (
        demo.demo_service.running_site(folder) as site,
        (folder / "check.log").open("w") as log,
    ):
        spreads = demo.demo_service.fetch_spreads(site)
        outcome = demo.demo_checks.check_branch(
            repository, branch, folder, spreads=spreads, log=log
        )
        yield SimpleNamespace(repository=repository, outcome=outcome, folder=folder, site=site)


def test_a_branch_becomes_one_comment_and_one_check_run(demo, checked, branch):
    commit = demo.demo_repository.commit_of(checked.repository, branch.name)
    outcome, site = checked.outcome, checked.site

    demo.demo_service.open_pull_request(site, branch, commit)
    page = demo.demo_service.upload_bundle(site, outcome.bundle)
    report = demo.demo_service.wait_for_report(site, branch, page, commit)

    assert [verdict.workload for verdict in outcome.speed()] == ["benchmarks.spin:add"]
    assert report.conclusion == outcome.conclusion
    # The comment puts names in code, and has usual spaces.
    assert outcome.headline.replace("\u00a0", " ") in report.comment.replace("`", "")
    assert page.startswith(site.url)


def test_the_check_and_the_service_judge_by_the_same_entry_of_its_history(checked):
    document = json.loads((checked.folder / "spreads.json").read_text())
    bundle = json.loads((checked.folder / "topic.bundle.json").read_text())

    assert bundle["plan"]["history"] == document["history"]
    assert isinstance(document["history"], int)


def test_a_check_leaves_no_worktree_behind_and_its_report_beside_its_bundle(demo, checked):
    worktrees = demo.demo_repository.git(checked.repository, "worktree", "list").splitlines()
    report = json.loads((checked.folder / "topic.report.json").read_text())

    assert len(worktrees) == 1
    assert report["headline"] == checked.outcome.headline
    assert (checked.folder / "topic.bundle.json").exists()


def test_a_check_that_cannot_be_done_is_an_error(demo, spinning, branch, tmp_path):
    demo.demo_repository.git(spinning, "branch", "--delete", "--force", branch.name)

    with (
        (tmp_path / "check.log").open("w") as log,
        pytest.raises(demo.demo_repository.DemoError, match="ended with exit code 2 on topic"),
    ):
        demo.demo_checks.check_branch(spinning, branch, tmp_path, log=log)


def test_a_server_that_does_not_start_is_an_error_with_its_last_words(demo, tmp_path):
    (tmp_path / "service.db").mkdir()

    with (
        pytest.raises(
            demo.demo_repository.DemoError, match="perfledger server ended with exit code"
        ),
        demo.demo_service.running_site(tmp_path),
    ):
        pytest.fail("it started on a database that is a folder")

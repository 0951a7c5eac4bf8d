"""The demo's way with real processes: git, the command line, GitHub's stand-in and the service."""

import json

import pytest

pytestmark = pytest.mark.slow


@pytest.fixture
def outcome(demo, spinning, branch, tmp_path):
    """The outcome of a real check, and what the command printed."""
    log = tmp_path / "check.log"
    with log.open("w") as file:
        return demo.demo_checks.check_branch(spinning, branch, tmp_path, log=file)


def test_a_branch_becomes_one_comment_and_one_check_run(demo, spinning, branch, tmp_path, outcome):
    commit = demo.demo_repository.commit_of(spinning, branch.name)
    site_folder = tmp_path / "site"
    site_folder.mkdir()

    with demo.demo_service.running_site(site_folder) as site:
        demo.demo_service.open_pull_request(site, branch, commit)
        page = demo.demo_service.upload_bundle(site, outcome.bundle)
        report = demo.demo_service.wait_for_report(site, branch, page, commit)

    assert [verdict.workload for verdict in outcome.speed()] == ["benchmarks.spin:add"]
    assert report.conclusion == outcome.conclusion
    assert outcome.headline in report.comment
    assert page.startswith(site.url)


def test_a_check_leaves_no_worktree_behind_and_its_report_beside_its_bundle(
    demo, spinning, outcome, tmp_path
):
    worktrees = demo.demo_repository.git(spinning, "worktree", "list").splitlines()

    assert len(worktrees) == 1
    assert json.loads((tmp_path / "topic.report.json").read_text())["headline"] == outcome.headline
    assert (tmp_path / "topic.bundle.json").exists()


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

"""Announcements of real commits to a real service, and to none."""

import socket
from dataclasses import replace

import pytest

from perfledger.records import Device, Machine, Side
from perfledger_runners.bundles.check_progress import CheckState, ProgressSender
from perfledger_runners.checkouts.repository import Repository
from perfledger_service.errors import PerfledgerError, UsageError
from perfledger_service.settings.check import CheckSettings
from perfledger_service.store.database import read_session
from perfledger_service.store.expected_classes import expected_classes
from perfledger_service.usecases.check.announce import (
    AnnouncedProgress,
    announce_check,
    announced_progress,
    announcement_notes,
)
from perfledger_service.usecases.check.revisions import resolve_revisions
from perfledger_service.usecases.inputs.upload_target import UploadTarget
from perfledger_service.usecases.uploads.machine_classes import head_of_work
from tests.service.git_history import GitHistory

TOKEN = "pl_0123abcd_" + "s" * 43
CONFIG = 'machine_classes = ["cuda:*H100*:1", "cuda:*A100*:1"]\nclass_deadline = "2h"\n'


@pytest.fixture
def history(tmp_path):
    """A repository whose main has a configuration, and a commit on a branch."""
    history = GitHistory(tmp_path / "repository")
    (history.folder / "perfledger.toml").write_text(CONFIG, encoding="utf-8")
    history.git("add", "-A")
    history.commit()
    history.git("checkout", "-q", "-b", "topic")
    history.commit()
    return history


@pytest.fixture
def target(site):
    return UploadTarget(url=site.url, token=TOKEN)


@pytest.fixture
def nobody():
    """A service at an address where nobody listens."""
    with socket.socket() as taken_socket:
        taken_socket.bind(("127.0.0.1", 0))
        yield UploadTarget(url=f"http://127.0.0.1:{taken_socket.getsockname()[1]}", token=TOKEN)


def announce(history, target, *, head="topic"):
    return announce_check(history.folder, target, base="main", head=head, pull_request=7)


def notes_of(history, target, *, head="topic", pull_request=7, **settings):
    sides = resolve_revisions(Repository.open(history.folder), base="main", head=head)
    return announcement_notes(target, sides, CheckSettings(**settings), pull_request=pull_request)


def test_the_classes_and_the_deadline_of_the_bases_configuration_are_announced(
    history, target, site, now
):
    (history.folder / "perfledger.toml").write_text("", encoding="utf-8")
    history.git("add", "-A")
    head = history.commit()

    announced = announce(history, target)

    assert announced.head_sha == head
    assert [one.machine_class for one in announced.classes] == ["cuda:*H100*:1", "cuda:*A100*:1"]
    assert {(one.deadline - now).total_seconds() for one in announced.classes} == {7200.0}
    assert [check.head_sha for check in site.jobs.checks] == [head, head]


def test_announcing_again_changes_nothing(history, target):
    assert announce(history, target) == announce(history, target)


@pytest.mark.parametrize("head", ["main", ""])
def test_what_no_pull_request_has_is_not_announced(history, target, site, head):
    (history.folder / "uncommitted").write_text("x", encoding="utf-8")

    with pytest.raises(UsageError, match="not a commit of a pull request"):
        announce(history, target, head=head)

    assert site.jobs.checks == []


def test_the_command_fails_where_nobody_answers(history, nobody):
    with pytest.raises(PerfledgerError, match="no answer from the service"):
        announce(history, nobody)


def test_a_check_announces_any_class_where_none_is_configured(history, target, site):
    assert notes_of(history, target) == ()

    (check, _) = site.jobs.checks
    assert (check.pull_request, check.head_sha) == (7, history.git("rev-parse", "topic"))
    with read_session(site.engine) as session:
        (expected,) = expected_classes(session, head_of_work(site.engine, check))
    assert expected.machine_class == "*"


@pytest.mark.parametrize(
    "values", [{"pull_request": None}, {"head": "main"}, {"head": ""}], ids=str
)
def test_a_check_without_a_commit_of_a_pull_request_announces_nothing(
    history, target, site, values
):
    (history.folder / "uncommitted").write_text("x", encoding="utf-8")

    assert notes_of(history, target, **values) == ()
    assert site.jobs.checks == []


def test_a_check_goes_on_with_one_note_where_nobody_answers(history, nobody):
    (note,) = notes_of(history, nobody)

    assert note.startswith("the check was not announced on its pull request: no answer")
    assert TOKEN not in note


def test_a_check_without_a_service_announces_nothing(history):
    assert notes_of(history, None) == ()


class Progress:
    """A listener that remembers what it was told."""

    def __init__(self):
        self.events = []

    def stage(self, name):
        self.events.append(name)

    def measuring(self, workload, side, pair):
        self.events.append((workload, side, pair))

    def pair_done(self, *, pairs, waiting, seconds_left):
        self.events.append((pairs, waiting, seconds_left))


def measure(announced):
    announced.stage("measuring")
    announced.measure_on(Machine(device=Device.CPU, model="Test CPU"))
    announced.measuring("gpt:step", Side.HEAD, 2)
    announced.pair_done(pairs=3, waiting=2, seconds_left=90.0)


EVENTS = ["measuring", ("gpt:step", Side.HEAD, 2), (3, 2, 90.0)]


def test_the_service_is_told_what_the_terminal_is():
    progress = Progress()
    state = CheckState(pull_request=7, head_sha="b" * 40, max_pairs=20)
    sender = ProgressSender(state, lambda _: None)
    measure(AnnouncedProgress(progress, sender))

    assert progress.events == EVENTS
    assert sender.state == replace(
        state,
        stage="measuring",
        machine_class="cpu:Test CPU:1",
        workload="gpt:step",
        pairs=3,
        waiting=2,
        seconds_left=90.0,
    )


@pytest.mark.parametrize("pull_request", [7, None])
def test_the_terminal_is_told_with_a_service_and_without(history, target, pull_request):
    sides = resolve_revisions(Repository.open(history.folder), base="main", head="topic")
    progress = Progress()
    settings = CheckSettings()
    with announced_progress(
        target, sides, settings, progress, pull_request=pull_request
    ) as announced:
        measure(announced)

    assert progress.events == EVENTS

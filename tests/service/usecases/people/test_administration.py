"""Tests of what GitHub says of the App, where it does not answer."""

from perfledger_service.errors import GitHubError
from perfledger_service.store.database import read_session
from perfledger_service.usecases.people.administration import github_view


class SilentGitHub:
    """GitHub that answers nobody, or with a status; `asked` are the repositories."""

    def __init__(self, status):
        self.status, self.questions = status, []

    def installation(self, repository):
        self.questions.append(repository)
        msg = "no answer"
        raise GitHubError(msg, github_status=self.status)


def problems(engine, installations):
    with read_session(engine) as session:
        view = github_view(
            session,
            ("o/one", "o/two"),
            installations=installations,
            requests=None,
            has_webhook=False,
        )
    return [one.problem for one in view.installations]


def test_after_one_without_an_answer_nobody_is_asked(engine):
    github = SilentGitHub(None)

    first, second = problems(engine, github)

    assert first == "no answer"
    assert second.startswith("not asked")
    assert github.questions == ["o/one"]


def test_a_refusal_is_of_one_repository(engine):
    github = SilentGitHub(403)

    assert problems(engine, github) == ["no answer", "no answer"]
    assert github.questions == ["o/one", "o/two"]

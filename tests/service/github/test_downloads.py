"""Tests what GitHub keeps on other servers."""

import pytest

from perfledger_service.errors import GitHubError
from perfledger_service.github.api import GitHubApi
from perfledger_service.github.downloads import download
from perfledger_service.github.session import token_auth

PATH = "repos/octo/models/actions/artifacts/5/zip"


@pytest.fixture
def read(stand_in):
    """Return a function that downloads what is kept under the id 5."""
    stand_in.state.archives["5"] = {"id": 5, "data": b"archive"}
    api = GitHubApi(stand_in.url, sleep=lambda _: None)

    def read(max_bytes=100):
        return download(api, PATH, auth=token_auth("t"), max_bytes=max_bytes)

    yield read
    api.close()


def test_the_other_server_gets_no_token(read, tmp_path, monkeypatch):
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login a password b\n")
    monkeypatch.setenv("NETRC", str(netrc))

    assert read() == b"archive"  # the stand-in refuses one


def test_what_is_too_large_is_refused(read):
    assert read(max_bytes=7) == b"archive"
    with pytest.raises(GitHubError, match="more than 6 bytes") as caught:
        read(max_bytes=6)

    assert not caught.value.is_transient


@pytest.mark.parametrize(
    ("fault", "problem"),
    [
        ({"path": "/storage/", "status": 403}, "answered 403"),
        ({"path": "/storage/", "status": 302}, "answered 302"),
        (
            {"path": "/storage/", "status": 302, "headers": {"Location": "//[x"}},
            "from GitHub failed",
        ),
        ({"path": "/storage/", "drop": "before"}, "failed: ConnectionError"),
        ({"path": "/zip", "status": 200}, "without an address"),
        ({"path": "/zip", "status": 302}, "without an address"),
        ({"path": "/zip", "status": 302, "headers": {"Location": "file:///etc/passwd"}}, "without"),
        ({"path": "/zip", "status": 302, "headers": {"Location": "https:no"}}, "without"),
        ({"path": "/zip", "status": 302, "headers": {"Location": "https://[x"}}, "did not answer"),
        ({"path": "/zip", "status": 410}, "answered 410"),
    ],
)
def test_what_does_not_arrive_is_said(read, stand_in, fault, problem):
    stand_in.state.faults.append({"count": 1} | fault)

    with pytest.raises(GitHubError, match=problem):
        read()


def test_with_tls_an_answer_leads_to_no_server_without():
    api = GitHubApi("https://api.github.example")

    assert api.may_lead_to("https://storage.example/x?sig=1")
    assert not api.may_lead_to("http://storage.example/x")

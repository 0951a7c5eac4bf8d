"""Runs the service and a stand-in for GitHub, and uploads bundles to it."""

import json
import secrets
import select
import socket
import subprocess
import sys
import time
from collections.abc import Generator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from demo_checks import PERFLEDGER, environment
from demo_repository import EXAMPLES, REPOSITORY, Branch, DemoError
from github_oauth import CLIENT_ID, CLIENT_SECRET

STARTING_S = 300.0
POSTING_S = 300.0
STOPPING_S = 10.0
POLL_S = 0.2
LOG_LINES = 15


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """A running service, its stand-in for GitHub, and the token of the demo's project."""

    url: str
    github_url: str
    token: str
    folder: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class PostedReport:
    """The comment, the check run and the page of a pull request."""

    comment: str
    conclusion: str
    title: str
    page: str


@contextmanager
def running_site(folder: Path) -> Generator[Site]:
    """Start GitHub's stand-in and the service on free loopback ports; stop both at the end.

    Files go into `folder`. Raises DemoError if one of them does not start.
    """
    with ExitStack() as stack:
        github_url = stack.enter_context(running_github(folder))
        settings = service_settings(folder, github_url)
        _perfledger("server", "db", "upgrade", folder=folder, settings=settings)
        token = _perfledger(
            *("server", "project", "add", REPOSITORY, "--trust", "runners"),
            folder=folder,
            settings=settings,
        )
        url = stack.enter_context(running_service(folder, settings))
        yield Site(url=url, github_url=github_url, token=token, folder=folder)


@contextmanager
def running_github(folder: Path) -> Generator[str]:
    """Start GitHub's stand-in on a free loopback port; yield its address, and stop it at the end.

    Raises DemoError if it does not start.
    """
    stand_in = (sys.executable, str(EXAMPLES / "github_stand_in.py"), "--port", "0")
    with _running(stand_in, folder, "github", {}) as url:
        yield url


def service_settings(folder: Path, github_url: str) -> dict[str, str]:
    """Return the settings of a service that uses GitHub's stand-in."""
    return {
        "PERFLEDGER_DATABASE_URL": database_url(folder),
        "PERFLEDGER_GITHUB_API_URL": github_url,
        "PERFLEDGER_GITHUB_APP_ID": "1",
        "PERFLEDGER_GITHUB_PRIVATE_KEY": _private_key(),
    }


def sign_in_settings(github_url: str, login: str) -> dict[str, str]:
    """Sign everybody in as one account, an admin of the repository; return the settings for this.

    Pages are open to those who do not sign in.
    """
    admin = {"repository": REPOSITORY, "login": login, "permission": "admin"}
    _request(f"{github_url}/_stand_in/permissions", document=admin)
    _request(f"{github_url}/_stand_in/browser", document={"login": login})
    return {
        "PERFLEDGER_GITHUB_CLIENT_ID": CLIENT_ID,
        "PERFLEDGER_GITHUB_CLIENT_SECRET": CLIENT_SECRET,
        "PERFLEDGER_WEBHOOK_SECRET": secrets.token_hex(32),
        "PERFLEDGER_PUBLIC_READ": "true",
    }


@contextmanager
def running_service(folder: Path, settings: Mapping[str, str]) -> Generator[str]:
    """Start the service on a free loopback port; yield its address, and stop it at the end.

    Its database must exist. Raises DemoError if it does not start.
    """
    port = _free_port()
    url = f"http://127.0.0.1:{port}"
    serve = (*PERFLEDGER, "server", "run", "--host", "127.0.0.1", "--port", str(port))
    with _running(serve, folder, "service", {**settings, "PERFLEDGER_PUBLIC_URL": url}):
        _wait_for(f"{url}/readyz", "the service")
        yield url


def database_url(folder: Path) -> str:
    """Return the address of the database in the demo's folder."""
    return f"sqlite:///{folder.resolve() / 'service.db'}"


def open_pull_request(site: Site, branch: Branch, commit: str) -> None:
    """Open a branch's pull request on GitHub's stand-in."""
    pull = {
        "repository": REPOSITORY,
        "number": branch.pull_request,
        "head_sha": commit,
        "head_ref": branch.name,
        "title": branch.subject,
    }
    _request(f"{site.github_url}/_stand_in/pulls", document=pull)


def upload_bundle(site: Site, bundle: str) -> str:
    """Upload a bundle like a CI job, and return the URL of its page."""
    settings = {"PERFLEDGER_UPLOAD_URL": site.url, "PERFLEDGER_UPLOAD_TOKEN": site.token}
    return _perfledger("upload", bundle, folder=site.folder, settings=settings)


def fetch_spreads(site: Site) -> Path:
    """Fetch what the service learnt from earlier checks, like a CI job before its check."""
    settings = {"PERFLEDGER_UPLOAD_URL": site.url, "PERFLEDGER_UPLOAD_TOKEN": site.token}
    file = site.folder.resolve() / "spreads.json"
    command = ("history", "spreads", "--output", str(file))
    _output_of(*command, folder=site.folder, settings=settings)
    return file


def wait_for_report(site: Site, branch: Branch, page: str, commit: str) -> PostedReport:
    """Wait until the service has posted on the pull request, and return the posted report.

    Raises DemoError if it does not post, or unless there is exactly one comment and one check run.
    """
    upload = f"{site.url}/api/v1/uploads/{page.rpartition('/')[2]}"
    deadline = time.monotonic() + POSTING_S
    while (document := _request(upload, token=site.token))["status"] != "posted":
        if document["status"] in ("failed", "refused") or time.monotonic() > deadline:
            reason = document["reason"] or f"no result in {POSTING_S:.0f} s"
            msg = f"the service posted nothing on {branch.name}: {document['status']}, {reason}"
            raise DemoError(msg)
        time.sleep(POLL_S)
    state = _request(f"{site.github_url}/_stand_in/state")
    return posted_report(state, branch, commit, page)


def posted_report(state: Mapping[str, Any], branch: Branch, commit: str, page: str) -> PostedReport:
    """Return the report on a pull request in the stand-in's state.

    Raises DemoError unless there is exactly one comment and one check run.
    """
    repository = state["repositories"][REPOSITORY]
    number = branch.pull_request
    comments = [each for each in repository["comments"].values() if each["number"] == number]
    checks = [each for each in repository["check_runs"].values() if each["head_sha"] == commit]
    if len(comments) != 1 or len(checks) != 1:
        msg = (
            f"pull request {number} has {len(comments)} comments and {len(checks)} check runs, "
            "but should have one of each"
        )
        raise DemoError(msg)
    return PostedReport(
        comment=comments[0]["body"],
        conclusion=checks[0]["conclusion"],
        title=checks[0]["output"]["title"],
        page=page,
    )


def _perfledger(*arguments: str, folder: Path, settings: Mapping[str, str]) -> str:
    """Run a perfledger command and return its last line."""
    lines = _output_of(*arguments, folder=folder, settings=settings).split("\n")[:-1]
    if not lines:
        msg = f"perfledger {arguments[0]} printed nothing"
        raise DemoError(msg)
    return lines[-1]


def _output_of(*arguments: str, folder: Path, settings: Mapping[str, str]) -> str:
    """Run a perfledger command and return what it prints; raise DemoError if it fails."""
    done = subprocess.run(
        (*PERFLEDGER, *arguments),
        check=False,
        cwd=folder,
        env=environment(folder, **settings),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )
    if done.returncode != 0:
        msg = f"perfledger {arguments[0]} ended with exit code {done.returncode}: {done.stderr}"
        raise DemoError(msg)
    return done.stdout


@contextmanager
def _running(
    command: tuple[str, ...], folder: Path, name: str, settings: Mapping[str, str]
) -> Generator[str]:
    """Run a server whose first line ends with its address; yield that, and stop it at the end."""
    with (folder / f"{name}.log").open("w", encoding="utf-8") as log:
        process = subprocess.Popen(
            command,
            cwd=folder,
            env=environment(folder, **settings),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        )
    try:
        yield _address(process, folder, name)
    finally:
        process.terminate()
        with suppress(subprocess.TimeoutExpired):
            process.wait(timeout=STOPPING_S)
        process.kill()
        process.wait()
        if process.stdout is not None:
            process.stdout.close()


def _address(process: subprocess.Popen[str], folder: Path, name: str) -> str:
    """Return the last word of a server's first line; raise DemoError without one."""
    assert process.stdout is not None
    has_output = bool(select.select([process.stdout], [], [], STARTING_S)[0])
    words = (process.stdout.readline() if has_output else "").split()
    if not words:
        log = (folder / f"{name}.log").read_text(encoding="utf-8").splitlines()
        tail = "\n".join(log[-LOG_LINES:])
        msg = f"{name} did not start; the end of {folder / name}.log:\n{tail}"
        raise DemoError(msg)
    return words[-1]


def _wait_for(url: str, name: str) -> None:
    deadline = time.monotonic() + STARTING_S
    while True:
        try:
            _request(url)
        except DemoError as error:
            if time.monotonic() > deadline:
                msg = f"{name} is not ready after {STARTING_S:.0f} s: {error}"
                raise DemoError(msg) from error
            time.sleep(POLL_S)
        else:
            return


def _request(url: str, *, token: str = "", document: Mapping[str, Any] | None = None) -> Any:
    """Send a request to a loopback address and return the JSON of the response."""
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    data = None if document is None else json.dumps(document).encode()
    try:
        with urlopen(Request(url, data=data, headers=headers), timeout=STARTING_S) as answer:
            return json.load(answer)
    except (HTTPError, URLError, OSError) as error:
        msg = f"{url} did not answer: {error}"
        raise DemoError(msg) from error


def _private_key() -> str:
    """Return a new key for the stand-in's GitHub App, as PEM."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    ).decode()


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])

"""A site on which people sign in, with the stand-in for GitHub, and their browsers."""

import re
import shutil
import ssl
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from urllib.parse import urlsplit

import httpx
import pytest
from pydantic import SecretStr

from perfledger_service.github.sign_in import GitHubSignIn
from perfledger_service.store.database import open_engine
from perfledger_service.usecases.people.sign_in import SignInOptions

PUBLIC_URL = "http://ledger.example"
IDLE, LIFETIME = timedelta(hours=12), timedelta(days=7)
NO_CERTIFICATES = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
# Who may do what at GitHub.
PERMISSIONS = {
    "octo/models": {"alice": "write", "carol": "admin", "vera": "read"},
    "octo/other": {"bob": "admin", "vera": "none"},
}


class Clock:
    """The time of a site, which a test moves on."""

    def __init__(self):
        self.time = datetime(2026, 11, 20, 12, tzinfo=UTC)

    def __call__(self):
        return self.time

    def move(self, step):
        self.time += step


class Browser:
    """Somebody's browser, which keeps cookies and follows no redirect by itself."""

    def __init__(self, site, stand_in, login, **headers):
        self.site, self.stand_in, self.login = site, stand_in, login
        self.client = httpx.Client(
            base_url=site.url,
            headers={"Accept": "text/html", **headers},
            timeout=600,
            verify=NO_CERTIFICATES,
        )

    def get(self, path, **values):
        return self.client.get(path, **values)

    def go_to_github(self, url, **values):
        """Return the path on our site to which GitHub sends the browser back."""
        fields = {"login": self.login} | values
        httpx.post(f"{self.stand_in.url}/_stand_in/browser", json=fields, verify=NO_CERTIFICATES)
        back = urlsplit(httpx.get(url, verify=NO_CERTIFICATES).headers["location"])
        assert f"{back.scheme}://{back.netloc}{back.path}" == f"{PUBLIC_URL}/sign-in/callback"
        return f"{back.path}?{back.query}"

    def sign_in(self, next_path="/"):
        begun = self.get("/sign-in", params={"next": next_path})
        return self.get(self.go_to_github(begun.headers["location"]))

    @property
    def session(self):
        return self.client.cookies.get("perfledger_session")

    @property
    def form_token(self):
        [token] = {*re.findall(r'name="form_token" value="(\w+)"', self.get("/account").text)}
        return token

    def post(self, path, *, token=None, headers=None, **fields):
        """Send a form as our own page would."""
        token = self.form_token if token is None else token
        return self.client.post(
            path,
            data={"form_token": token, **fields},
            headers={"Origin": self.site.url} | (headers or {}),
        )


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def github_sign_in(stand_in):
    provider = GitHubSignIn(
        stand_in.url,
        client_id="Iv1.standin",
        client_secret=SecretStr("stand-in client secret"),
        public_url=PUBLIC_URL,
    )
    yield provider
    provider.close()


@pytest.fixture(scope="session")
def two_projects_file(migrated_file, tmp_path_factory, judged, make_bundle):
    """A SQLite file with a check and an event of each project."""
    path = shutil.copy(migrated_file, tmp_path_factory.mktemp("two_projects"))
    engine = open_engine(f"sqlite:///{path}")
    tokens = ("pl_0123abcd_" + "s" * 43, "pl_4567cdef_" + "t" * 43)
    for number, repository in enumerate(PERMISSIONS):
        bundle = make_bundle(seed=number, repository=repository, pairs=4)
        judged(engine, bundle, upload_id=str(number + 1) * 32, token=tokens[number])
    engine.dispose()
    return path


@pytest.fixture
def two_projects(two_projects_file, engine, stand_in):
    """Fill a database with both projects, and tell GitHub who may do what."""
    shutil.copy(two_projects_file, engine.url.database)
    for repository, permissions in PERMISSIONS.items():
        stand_in.state.repository(repository, create=True)["permissions"].update(permissions)
    return engine


@pytest.fixture
def start_people_site(two_projects, start_site, clock, github):
    """Serve two projects with a check and an event each."""

    @contextmanager
    def start(**values):
        options = SignInOptions(**{"idle": IDLE, "lifetime": LIFETIME} | values)
        proxies = {"proxy_addresses": options.proxy_addresses}
        people = {"sign_in": options, "permissions": github, **proxies}
        with start_site(two_projects, public_url=PUBLIC_URL, now=clock, **people) as site:
            yield site

    return start


@pytest.fixture
def people_site(start_people_site, github_sign_in):
    with start_people_site(github=github_sign_in) as site:
        yield site


@pytest.fixture
def browser_of(people_site, stand_in):
    """Return a function that opens a new browser of a person, signed in or not."""
    browsers = []

    def browser_of(login, *, is_signed_in=True):
        browser = Browser(people_site, stand_in, login)
        browsers.append(browser)
        if is_signed_in:
            assert browser.sign_in().status_code == 303
        return browser

    yield browser_of
    for browser in browsers:
        browser.client.close()

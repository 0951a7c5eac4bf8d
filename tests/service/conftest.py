"""A database, a stand-in for GitHub and bundles, so that a test says only what it is about."""

import importlib
import io
import logging
import shutil
import ssl
import sys
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Any

import httpx
import pytest
import structlog
from typer.testing import CliRunner

from perfledger.bundle import Bundle, Plan
from perfledger.metrics import PEAK_MEMORY, STEP_TIME
from perfledger.records import Device, Machine, Revision, Run, Side, WorkloadSpec
from perfledger_service.cli.app import app
from perfledger_service.github.api import GitHubApi
from perfledger_service.github.authentication import TokenAuthentication
from perfledger_service.github.client import GitHub
from perfledger_service.settings.quotas import UploadQuota
from perfledger_service.store.database import read_session
from perfledger_service.store.projects import token_of_prefix
from perfledger_service.store.upgrade import upgrade
from perfledger_service.store.uploads import upload_by_id
from perfledger_service.usecases.check.report_builder import build_report
from perfledger_service.usecases.server.project import add_project
from perfledger_service.usecases.server.token import valid_token
from perfledger_service.usecases.uploads.reports import UploadReports
from perfledger_service.usecases.uploads.uploads import judge_upload, receive_bundle
from perfledger_service.values.token_scope import TokenScope
from perfledger_service.web.app import create_app
from perfledger_service.web.app_state import AppState
from perfledger_service.web.logs import configure_logging
from tests.service.recording_jobs import RecordingJobs
from tests.service.servers.prompt_server import serving
from tests.service.shared_engines import SharedEngines
from tests.service.short_runs import short_runs
from tests.service.workflows.engine_files import EngineFiles

ROOT = Path(__file__).parents[2]
NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
QUOTA = UploadQuota()
REPOSITORY = "octo/models"
BASE_SHA = "a" * 40
HEAD_SHA = "b" * 40
TOKEN = "pl_0123abcd_" + "s" * 43
OTHER_TOKEN = "pl_4567cdef_" + "t" * 43
GITHUB_TOKEN = "ghp_canaryCanaryCanaryCanaryCanary012345"
METRICS = (STEP_TIME, PEAK_MEMORY)
# For clients of plain HTTP, which would each parse all certificates of this machine.
NO_CERTIFICATES = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


def a_bundle(*, ratio=1.2, workloads=("gpt:step",), pairs=6, samples=5, seed=0, **values):
    """Return a bundle whose head takes `ratio` times as long as its base, with 0.1 % of noise."""
    noise = Random(seed)
    runs = tuple(
        Run(
            workload=workload,
            side=side,
            pair=pair,
            position=position,
            process=2 * pair + position,
            started_at="2026-11-20T11:00:00+00:00",
            samples={
                STEP_TIME.name: tuple(
                    0.01 * (ratio if side is Side.HEAD else 1) * (1 + 0.001 * noise.gauss())
                    for _ in range(samples)
                ),
                PEAK_MEMORY.name: (1e6,),
            },
        )
        for workload in workloads
        for pair in range(pairs)
        for position, side in enumerate(Side)
    )
    defaults: dict[str, Any] = {
        "id": f"{seed:032x}",
        "created_at": "2026-11-20T11:00:00+00:00",
        "base": Revision(sha=BASE_SHA, subject="before"),
        "head": Revision(sha=HEAD_SHA, subject="after"),
        "machine": Machine(device=Device.CPU, model="Test CPU", host="a1"),
        "plan": Plan(seed=1, order=("base",) * pairs, looks=(4, 6)),
        "workloads": tuple(
            WorkloadSpec(id=one, module="gpt", function="step") for one in workloads
        ),
        "metrics": METRICS,
        "runs": runs,
        "repository": REPOSITORY,
        "pull_request": 7,
    }
    return Bundle(**(defaults | values))


@pytest.fixture(scope="session", autouse=True)
def plain_logging():
    """Hand structlog's events to the standard library: its default draws tracebacks for seconds."""
    structlog.configure(
        processors=[structlog.stdlib.render_to_log_kwargs],
        logger_factory=structlog.stdlib.LoggerFactory(),
    )


@pytest.fixture(scope="session")
def stand_in_module():
    """examples/github_stand_in.py, which is no part of a package."""
    sys.path.insert(0, str(ROOT / "examples"))
    yield importlib.import_module("github_stand_in")
    sys.path.remove(str(ROOT / "examples"))


@pytest.fixture(name="short_runs")
def measure_short_runs():
    """Measure for a twentieth of the usual time, for tests that need few or large steps."""
    with short_runs():
        yield


@pytest.fixture
def stand_in(stand_in_module):
    with stand_in_module.running() as server:
        yield server


@pytest.fixture(scope="session")
def migrated_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("migrated") / "perfledger.db"
    upgrade(f"sqlite:///{path}")
    return path


@pytest.fixture
def database_url(migrated_file, tmp_path):
    """A fresh SQLite database with today's tables."""
    shutil.copy(migrated_file, tmp_path / "perfledger.db")
    return f"sqlite:///{tmp_path / 'perfledger.db'}"


@pytest.fixture(scope="session")
def open_shared():
    """Return a context manager of a database's engine, which is one for all of a kind."""
    return SharedEngines().open


@pytest.fixture
def engine(open_shared, database_url):
    with open_shared(database_url) as engine:
        yield engine


@pytest.fixture(scope="session")
def migrated_database(new_database):
    """The name of a PostgreSQL database with today's tables, to make copies of."""
    with new_database() as url:
        upgrade(url)
        yield url.rpartition("/")[2]


@pytest.fixture
def migrated_postgres_url(new_database, migrated_database):
    """The URL of a fresh PostgreSQL database with today's tables."""
    with new_database(template=migrated_database) as url:
        yield url


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.slow(ci_only=True))])
def any_engine(request):
    """An up-to-date database of each kind; of the store's own tests, always of both."""
    if request.param == "sqlite":
        yield request.getfixturevalue("engine")
        return
    open_shared = request.getfixturevalue("open_shared")
    with open_shared(request.getfixturevalue("migrated_postgres_url")) as engine:
        yield engine


@pytest.fixture(scope="session")
def make_bundle():
    return a_bundle


@pytest.fixture
def run():
    """Run a command that is to succeed and return what it prints; what it raises is raised."""

    def run(*words, **environment):
        done = CliRunner().invoke(app, list(map(str, words)), env={"COLUMNS": "80", **environment})
        if done.exception is not None and not isinstance(done.exception, SystemExit):
            raise done.exception
        assert done.exit_code == 0, done.stdout
        return done.stdout

    return run


@pytest.fixture(scope="session")
def engine_files(tmp_path_factory):
    return EngineFiles(tmp_path_factory.mktemp("engine"))


@pytest.fixture
def engine_url(engine_files, tmp_path):
    """The URL of the workflow engine's own database, without any work in it."""
    return engine_files.copy_to(tmp_path / "jobs.db")


@pytest.fixture(scope="session")
def now():
    return NOW


@pytest.fixture
def log():
    """Configure logging into a text, and put everything back afterwards."""
    names = ("", "dbos", "uvicorn", "uvicorn.access", "uvicorn.error", "alembic")
    loggers = [logging.getLogger(name) for name in names]
    before = [(one, one.handlers, one.propagate, one.level) for one in loggers]
    configuration = structlog.get_config()
    stream = io.StringIO()
    configure_logging(stream)
    yield stream
    for logger, handlers, propagate, level in before:
        logger.handlers, logger.propagate = handlers, propagate
        logger.setLevel(level)
    structlog.configure(**configuration)


@pytest.fixture
def serve_app():
    return serving


@pytest.fixture(scope="session")
def received():
    """Store a bundle as it would be after its upload, and return the upload."""

    def receive(
        engine,
        bundle,
        *,
        upload_id="1" * 32,
        token=TOKEN,
        now=NOW,
        trust_runners=False,
        quota=QUOTA,
    ):
        with read_session(engine) as session:
            is_known = token_of_prefix(session, token[:11]) is not None
        if not is_known:
            trust = {"trust_runners": trust_runners}
            add_project(engine, bundle.repository, token=token, now=NOW, **trust)
        project = valid_token(engine, token, now=NOW, scope=TokenScope.UPLOAD).project
        data = bundle.to_json().encode()
        return receive_bundle(
            engine, data, project=project, upload_id=upload_id, now=now, quota=quota
        )

    return receive


@pytest.fixture(scope="session")
def judged(received):
    """Store and judge a bundle, and return the upload."""

    def judge(engine, bundle, *, now=NOW, commits=None, **values):
        upload, reports = received(engine, bundle, now=now, **values), UploadReports(build_report)
        judge_upload(engine, upload.id, reports=reports, now=now, commits=commits)
        with read_session(engine) as session:
            return upload_by_id(session, upload.id)

    return judge


@pytest.fixture
def judged_on_branch(judged):
    """Store and judge a bundle whose commits have places on the branch, in order of appearance."""
    places: dict[str, int] = {}

    def judge(engine, bundle, **values):
        base, head = (
            replace(one, depth=places.setdefault(one.sha, len(places)))
            for one in (bundle.base, bundle.head)
        )
        return judged(engine, replace(bundle, base=base, head=head), trust_runners=True, **values)

    return judge


class Repository:
    """octo/models at the stand-in: what a test tells it, and what was said there."""

    def __init__(self, server, name=REPOSITORY):
        self.server, self.name = server, name
        self.state = server.state.repository(name, create=True)

    def open_pull(self, number=7, head_sha=HEAD_SHA, **values):
        return self.tell("pulls", {"number": number, "head_sha": head_sha} | values)

    def add_comment(self, author, body, number=7):
        return self.tell("comments", {"number": number, "author": author, "body": body})

    def fail_next(self, **fault):
        self.tell("faults", fault)

    def tell(self, what, fields):
        fields = {"repository": self.name} | fields
        url = f"{self.server.url}/_stand_in/{what}"
        answer = httpx.post(url, json=fields, timeout=600, verify=NO_CERTIFICATES)
        assert answer.status_code == 201, answer.text
        return answer.json()

    @property
    def comments(self):
        return list(self.state["comments"].values())

    @property
    def checks(self):
        return list(self.state["check_runs"].values())

    @property
    def requests(self):
        """What was asked so far, as "METHOD path" below the repository."""
        return [
            f"{one['method']} {one['path'].removeprefix(f'/repos/{self.name}/')}"
            for one in self.server.state.requests
        ]


@pytest.fixture
def at_github(stand_in):
    return Repository(stand_in)


@pytest.fixture
def github(stand_in):
    """Our client, speaking to the stand-in without waiting between writes."""
    api = GitHubApi(stand_in.url, write_interval_s=0.0)
    yield GitHub(api, TokenAuthentication(api, GITHUB_TOKEN))
    api.close()


class Site:
    """The web application over real HTTP, with a project and its token."""

    def __init__(self, app, url, engine, jobs):
        self.app, self.url, self.engine, self.jobs = app, url, engine, jobs
        self.client = httpx.Client(base_url=url, timeout=600, verify=NO_CERTIFICATES)

    def upload(self, bundle, *, token=TOKEN, **values):
        content = bundle.to_json() if isinstance(bundle, Bundle) else bundle
        headers = {"Authorization": f"Bearer {token}"} | values.pop("headers", {})
        return self.client.post("/api/v1/uploads", content=content, headers=headers, **values)

    def get(self, path, *, token=None):
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        return self.client.get(path, headers=headers)

    def judge(self, upload_id):
        judge_upload(self.engine, upload_id, reports=UploadReports(build_report), now=NOW)


@pytest.fixture
def start_site():
    """Serve the application on a database, with no work being done."""

    @contextmanager
    def start(engine, **values):
        jobs = RecordingJobs()
        defaults: dict[str, Any] = {"public_url": "https://ledger.example", "now": lambda: NOW}
        state = AppState(
            engine=engine,
            workflow=jobs,
            reports=UploadReports(build_report),
            **defaults | values,
        )
        with serving(app := create_app(state)) as url:
            site = Site(app, url, engine, jobs)
            with site.client:
                site.get("/healthz")  # answered once the application has started
                yield site

    return start


@pytest.fixture
def site(engine, start_site):
    """The application with two projects, octo/models and octo/other."""
    add_project(engine, REPOSITORY, token=TOKEN, now=NOW)
    add_project(engine, "octo/other", token=OTHER_TOKEN, now=NOW)
    with start_site(engine) as site:
        yield site

"""Serves an instance of the service with a generated history of checks.

make demo SERVE=1 and make screenshots run this; it measures nothing.
"""

import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from datetime import UTC, date, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from demo_history import COMMITS, MAINTAINER, PULL_REQUESTS, seed_history
from demo_pictures import take_pages, take_pictures
from demo_repository import BRANCHES, EXAMPLES, REPOSITORY, Branch, DemoError
from demo_service import (
    PostedReport,
    Site,
    database_url,
    open_pull_request,
    running_github,
    running_service,
    running_site,
    service_settings,
    sign_in_settings,
    upload_bundle,
    wait_for_report,
)
from rich.console import Console
from sqlalchemy import Engine

from perfledger_runners.bundles.files import read_bundle
from perfledger_service.settings.service import price_settings
from perfledger_service.store.database import open_engine
from perfledger_service.store.upgrade import upgrade
from perfledger_service.usecases.review.document_format import ReviewFormat
from perfledger_service.usecases.review.publishing import publish_review
from perfledger_service.usecases.review.review import ReviewRequest, quarter_named, review
from perfledger_service.usecases.server.project import project_of_name
from perfledger_service.usecases.server.token import new_token
from perfledger_service.values.people.person import Actor

REVIEW_DAY = date(2026, 11, 22)  # the day when the example's files were made


@contextmanager
def running_history(
    folder: Path, *, commits: int = COMMITS, pull_requests: int = PULL_REQUESTS
) -> Generator[str]:
    """Store a history in a new database in `folder`; yield the address of a service with it."""
    url = database_url(folder)
    upgrade(url)
    engine = open_engine(url)
    now = datetime.now(UTC).replace(minute=0, second=0, microsecond=0)
    seed_history(engine, token=new_token(), now=now, commits=commits, pull_requests=pull_requests)
    seed_review(engine, url, folder / "review", now=now)
    engine.dispose()
    with running_github(folder) as github_url:
        settings = {
            **service_settings(folder, github_url),
            **sign_in_settings(github_url, MAINTAINER),
            # No price is secret here: everyone who opens the demo may read its review.
            "PERFLEDGER_SHOW_OWN_PRICES": "true",
        }
        with running_service(folder, settings) as address:
            yield address


def seed_review(engine: Engine, url: str, folder: Path, *, now: datetime) -> None:
    """Store the review of the example's quarter, from the example's files and the history."""
    example = EXAMPLES / "review"
    request = ReviewRequest(
        quarter=quarter_named("2026Q3"),
        today=REVIEW_DAY,
        plan=example / "plan.toml",
        bundles=None,
        database_url=url,
        bill=example / "bill.csv",
        team_tag="",
        prices=price_settings(),
        previous=None,
        is_stale_allowed=False,
    )
    project = project_of_name(engine, REPOSITORY)
    forms = (ReviewFormat.HTML, ReviewFormat.JSON, ReviewFormat.CSV)
    for _ in publish_review(
        engine,
        project,
        review(request),
        folder,
        forms=forms,
        public_url="",
        actor=Actor(name="demo"),
        now=now,
    ):
        pass


def picture_history(folder: Path, pictures: Path, console: Console) -> None:
    """Write the pictures of all pages of a history."""
    with running_history(folder) as address:
        for path in take_pages(address, pictures):
            console.print(str(path), markup=False)


def picture_bundles(bundles: Path, pictures: Path, console: Console) -> None:
    """Write the README's pictures of the checks that an earlier demo left in `bundles`."""
    with TemporaryDirectory() as folder, running_site(Path(folder)) as site:
        reports = {branch.name: _post_bundle(branch, bundles, site) for branch in BRANCHES}
        for path in take_pictures(site.url, reports, pictures):
            console.print(str(path), markup=False)


def _post_bundle(branch: Branch, bundles: Path, site: Site) -> PostedReport:
    file = (bundles / f"{branch.name}.bundle.json").resolve()
    if not file.exists():
        msg = f"{file} does not exist: name the folder of a demo that has ended"
        raise DemoError(msg)
    commit = read_bundle(file.read_bytes()).head.sha
    open_pull_request(site, branch, commit)
    return wait_for_report(site, branch, upload_bundle(site, str(file)), commit)


def serve_history(folder: Path, console: Console) -> None:
    """Serve a history until Ctrl-C."""
    console.print(
        f"Judging a synthetic history of {COMMITS} commits and {PULL_REQUESTS} pull requests: a "
        "minute on a quiet machine. Its samples were recorded on a CPU and scaled; nothing is "
        "measured.",
        markup=False,
    )
    began = time.monotonic()
    with running_history(folder) as address:
        console.print(
            f"{time.monotonic() - began:.0f} s. The service runs at {address} until Ctrl-C.\n"
            f"Sign in at {address}/account to decide and administer: GitHub is a stand-in, and "
            f"lets everybody in as {MAINTAINER}."
        )
        with suppress(KeyboardInterrupt):
            while True:
                time.sleep(3600)

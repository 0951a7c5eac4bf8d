"""Empty databases to upgrade, and a confirmation state and an alert to store."""

import shutil
from contextlib import ExitStack
from pathlib import Path

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from sqlalchemy import event, update

from perfledger.metrics import STEP_TIME
from perfledger_baselines.history.commits.attribution import CommitRange, Harm, Series
from perfledger_baselines.history.commits.confirmation_state import (
    AbCandidate,
    AbPurpose,
    AbRequest,
    Alert,
    AnsweredCandidate,
    Bisection,
    BisectionStatus,
    ConfirmationState,
    ConfirmedChange,
    PendingConfirmation,
)
from perfledger_baselines.judging.verdict import EffectEstimate
from perfledger_service.store.database import open_engine, write_session
from perfledger_service.store.tables import StoreRow, UploadRow
from perfledger_service.store.upgrade import alembic_config
from perfledger_service.values.upload_views import UploadSender

CPU = "cpu:Test CPU:1"
SERIES = Series("m:f", STEP_TIME, CPU)
CANDIDATE = AbCandidate(
    series=SERIES, good=0, bad=4, newest=4, change=0.1, strength=8.0, pair_seconds=2.0
)
ESTIMATE = EffectEstimate(
    base=1.0,
    head=1.1,
    change=0.1,
    low=0.09,
    high=0.11,
    narrow_low=0.09,
    narrow_high=0.11,
    pairs=8,
    p_value=0.001,
    smallest_detectable=0.02,
)
CHANGE = ConfirmedChange(CANDIDATE, ESTIMATE, 0.5)
REQUEST = AbRequest(
    workload="m:f",
    machine_class=CPU,
    base=0,
    head=4,
    max_pairs=8,
    purpose=AbPurpose.CONFIRM,
    priority=0.5,
    window="2026-11-20",
)
STATE = ConfirmationState(
    pending_confirmations=(PendingConfirmation(REQUEST, (CANDIDATE,)),),
    bisections=(
        Bisection(
            workload="m:f",
            machine_class=CPU,
            suspected_range=CommitRange(1, 4),
            good=0,
            bad=4,
            changes=(CHANGE,),
            pairs=8,
        ),
    ),
    answered_candidates=(
        AnsweredCandidate(
            series=SERIES,
            harm=Harm.WORSE,
            commits=CommitRange(1, 1),
            newest=1,
            strength=float("inf"),
            is_confirmed=False,
        ),
    ),
    window="2026-11-20",
    pairs=8,
)
ALERT = Alert(
    workload="m:f",
    machine_class=CPU,
    suspected_range=CommitRange(1, 4),
    commits=CommitRange(2, 3),
    changes=(CHANGE,),
    narrowing=BisectionStatus.UNDER_WAY,
    pairs=8,
)


# PostgreSQL's copy of today's tables is made by all migrations as well.
@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.slow(ci_only=True))])
def empty_url(request, tmp_path):
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'empty.db'}"
    return request.getfixturevalue("postgres_url")


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.slow)])
def any_engine(request, open_shared):
    """An up-to-date database of each kind."""
    if request.param == "sqlite":
        yield request.getfixturevalue("engine")
        return
    with open_shared(request.getfixturevalue("migrated_postgres_url")) as engine:
        yield engine


@pytest.fixture
def empty_engine(empty_url):
    engine = open_engine(empty_url)
    yield engine
    engine.dispose()


@pytest.fixture(scope="session")
def earlier_files(tmp_path_factory):
    """The folder of SQLite databases of earlier versions, for tests that copy them."""
    return tmp_path_factory.mktemp("earlier")


@pytest.fixture
def upgrade_to(empty_url, earlier_files):
    """Return a function that gives the database the tables of an earlier version."""

    def upgrade_to(version):
        file, result = Path(empty_url.removeprefix("sqlite:///")), earlier_files / f"{version}.db"
        if not empty_url.startswith("sqlite:///") or file.exists():
            migrate(empty_url, version)
            return
        if not result.exists():
            migrate(f"sqlite:///{result}", version)
        shutil.copy(result, file)

    def migrate(url, version):
        engine = open_engine(url)
        if engine.dialect.name == "sqlite":  # which alters a table by dropping the old one
            event.listen(engine, "connect", lambda one, _: one.execute("pragma foreign_keys = off"))
        with engine.begin() as connection:
            command.upgrade(alembic_config(connection), version)
        engine.dispose()

    return upgrade_to


@pytest.fixture(scope="session")
def differences():
    """Return a function that compares a database with the tables that the code defines."""

    def differences(engine):
        with engine.connect() as connection:
            context = MigrationContext.configure(connection)
            return tuple(compare_metadata(context, StoreRow.metadata))

    return differences


@pytest.fixture
def mark_untrusted():
    """Make an upload one of a run that is not believed, which enters no baseline."""

    def mark_untrusted(engine, upload):
        with write_session(engine) as session:
            is_upload = UploadRow.id == upload.id
            session.exec(update(UploadRow).where(is_upload).values(sender=UploadSender.OTHER_RUN))
            session.commit()

    return mark_untrusted


@pytest.fixture
def record_statements():
    """Return a function that lists what an engine executes from now on, and whether for many."""
    with ExitStack() as stack:

        def record(engine):
            statements = []

            def remember(_connection, _cursor, statement, _parameters, _context, executemany):
                statements.append((statement, executemany))

            event.listen(engine, "before_cursor_execute", remember)
            stack.callback(event.remove, engine, "before_cursor_execute", remember)
            return statements

        yield record


@pytest.fixture(scope="session")
def state() -> ConfirmationState:
    return STATE


@pytest.fixture(scope="session")
def alert() -> Alert:
    return ALERT

"""How many uploads of 100 series x 20 samples the store takes, beside bare inserts in the same run.

    python benchmarks/service/ingest.py [--postgres postgresql+psycopg://USER@HOST/EMPTY_DATABASE]

An upload is a transaction. Of the service, it is `add_observations`, which also looks up series and
commits. Bare inserts have the same rows ready: SQLAlchemy Core on SQLite with the service's
pragmas, and the module sqlite3. Goals: the service on SQLite 0.85 times as many uploads as bare
Core, on PostgreSQL 1.3 times. Last, all that is stored of a judged upload (bundle, verdicts,
observations, pair differences, in the service's two transactions) beside sqlite3 with the same
rows: the goal is three times its time. Wall times of one machine vary: read the ratios.
"""

import argparse
import gzip
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

from sqlalchemy import Engine, insert, text
from upload import NOW, REPOSITORY, TOKEN, bundle

from perfledger.bundle import Bundle
from perfledger.records import Side
from perfledger_baselines.judging.pair_spreads import PairDifferences, pair_differences
from perfledger_runners.bundles.files import read_bundle
from perfledger_service.store.database import open_engine, write_session
from perfledger_service.store.observations import Observation, add_observations
from perfledger_service.store.pair_spreads import add_differences
from perfledger_service.store.projects import lock_project
from perfledger_service.store.tables import ObservationRow
from perfledger_service.store.upgrade import upgrade
from perfledger_service.store.uploads import PackedBundle, add_judgement, add_upload
from perfledger_service.usecases.check.report_builder import build_report
from perfledger_service.usecases.history.bundle_observations import observations_in
from perfledger_service.usecases.server.project import add_project
from perfledger_service.values.report import Report
from perfledger_service.values.upload_views import UploadSender

WORKLOADS = 50  # two metrics each
UPLOADS = 60
FIRST_UPLOADS = 10  # not counted: they add the series and fill caches
PROJECT = 1
ENVIRONMENT = ("e" * 64, "{}")
# In the order in which rows refer to each other.
TABLES = ("bundle", "upload", "verdict", "revision", "observation", "pair_spread")


def upload_id(number: int) -> str:
    return f"{number:032x}"


def bundles() -> Iterator[tuple[Bundle, bytes]]:
    for number in range(1, UPLOADS + 1):
        document = bundle(number, WORKLOADS)
        yield read_bundle(document), document


def packed(document: bytes) -> PackedBundle:
    return PackedBundle(
        sha256=sha256(document).hexdigest(),
        unpacked_bytes=len(document),
        content=gzip.compress(document, 6, mtime=0),
    )


def prepared(url: str) -> Engine:
    upgrade(url)
    engine = open_engine(url)
    add_project(engine, REPOSITORY, token=TOKEN, now=NOW)
    return engine


def receive(engine: Engine, number: int, sent: Bundle, content: PackedBundle) -> None:
    with write_session(engine) as session:
        lock_project(session, PROJECT)
        add_upload(
            session,
            sent,
            upload_id=upload_id(number),
            project_id=PROJECT,
            packed=content,
            environment=ENVIRONMENT,
            sender=UploadSender.RUNNER,
            measured_at=NOW,
            now=NOW,
        )
        session.commit()


def heads_of(sent: Bundle) -> tuple[Observation, ...]:
    return tuple(one for one in observations_in(sent) if one.side is Side.HEAD)


def add_heads(engine: Engine, number: int, observations: Sequence[Observation]) -> None:
    with write_session(engine) as session:
        lock_project(session, PROJECT)
        add_observations(session, observations, project_id=PROJECT, upload_id=upload_id(number))
        session.commit()


def median_s(acts: Sequence[Callable[[], object]]) -> float:
    times_s: list[float] = []
    for act in acts:
        start = time.perf_counter()
        act()
        times_s.append(time.perf_counter() - start)
    return statistics.median(times_s[FIRST_UPLOADS:])


def service_s(engine: Engine) -> float:
    """Return the seconds for the observations of an upload, as the service stores them."""
    acts: list[Callable[[], object]] = []
    for number, (sent, document) in enumerate(bundles()):
        receive(engine, number, sent, packed(document))
        heads = heads_of(sent)
        acts.append(partial(add_heads, engine, number, heads))
    return median_s(acts)


def rows_of(engine: Engine, table: str, number: int) -> list[dict[str, object]]:
    """Return the rows of a table that an upload added."""
    keys = {
        "bundle": "sha256 = (select bundle_sha256 from upload where id = :id)",
        "upload": "id = :id",
    }
    if table == "revision":
        keys["revision"] = "position in (select position from observation where upload_id = :id)"
    where = keys.get(table, "upload_id = :id")
    with engine.connect() as connection:
        rows = connection.execute(
            text(f"select * from {table} where {where}"), {"id": upload_id(number)}
        )
        return [dict(row) for row in rows.mappings()]


def emptied(engine: Engine, path: Path) -> str:
    """Return a copy of a database without what uploads added; series stay."""
    with closing(sqlite3.connect(path)) as copy, engine.connect() as connection:
        driver = connection.connection.driver_connection
        assert isinstance(driver, sqlite3.Connection)
        driver.backup(copy)
        for table in reversed(TABLES):
            copy.execute(f"delete from {table}")
        copy.execute("delete from gate_check")
        copy.commit()
    return f"sqlite:///{path}"


def core_s(engine: Engine, path: Path) -> float:
    """Return the seconds for the same observations by bare inserts of SQLAlchemy Core."""
    observations = [rows_of(engine, "observation", number) for number in range(UPLOADS)]
    others = {
        table: [row for number in range(UPLOADS) for row in rows_of(engine, table, number)]
        for table in ("bundle", "upload")
    }
    bare = open_engine(emptied(engine, path))
    with write_session(bare) as session:
        for table, rows in others.items():
            insert_raw(session.connection().connection.driver_connection, table, rows)
        session.commit()

    def store(rows: Sequence[dict[str, object]]) -> None:
        with write_session(bare) as session:
            session.connection().execute(insert(ObservationRow), rows)
            session.commit()

    taken_s = median_s([partial(store, rows) for rows in observations])
    bare.dispose()
    return taken_s


def insert_raw(connection: object, table: str, rows: Sequence[dict[str, object]]) -> None:
    assert isinstance(connection, sqlite3.Connection)
    if rows:
        names = ", ".join(rows[0])
        marks = ", ".join("?" * len(rows[0]))
        values = [tuple(row.values()) for row in rows]
        connection.executemany(f"insert or ignore into {table} ({names}) values ({marks})", values)


@dataclass(frozen=True)
class JudgedBundle:
    """A bundle with all that is stored of it once it is judged."""

    number: int
    sent: Bundle
    content: PackedBundle
    report: Report
    observations: tuple[Observation, ...]
    differences: Sequence[PairDifferences]

    def store(self, engine: Engine) -> None:
        receive(engine, self.number, self.sent, self.content)
        with write_session(engine) as session:
            lock_project(session, PROJECT)
            add_judgement(
                session,
                upload_id(self.number),
                self.report.verdicts,
                conclusion=self.report.conclusion,
                title=self.report.title,
                headline=self.report.headline,
                now=NOW,
            )
            ids: dict[str, Any] = {"project_id": PROJECT, "upload_id": upload_id(self.number)}
            add_observations(session, self.observations, **ids)
            add_differences(session, self.differences, **ids)
            session.commit()


def judged(number: int, sent: Bundle, document: bytes) -> JudgedBundle:
    report = build_report(sent, today=NOW.date(), is_local=False)
    return JudgedBundle(
        number=number,
        sent=sent,
        content=packed(document),
        report=report,
        observations=observations_in(sent),
        differences=pair_differences(report.tests, sent.machines()),
    )


def judged_s(engine: Engine) -> float:
    """Return the seconds for all rows of a judged upload, as the service stores them."""
    ready = [judged(number, *sent) for number, sent in enumerate(bundles())]
    return median_s([partial(one.store, engine) for one in ready])


def raw_s(engine: Engine, path: Path) -> float:
    """Return the seconds for the same rows by sqlite3, in two transactions an upload."""
    uploads = [
        {table: rows_of(engine, table, number) for table in TABLES} for number in range(UPLOADS)
    ]
    bare = open_engine(emptied(engine, path))  # for its pragmas
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for pragma in ("busy_timeout = 10000", "synchronous = full", "foreign_keys = on"):
            connection.execute(f"pragma {pragma}")

        def store(rows: dict[str, list[dict[str, object]]]) -> None:
            for tables in (TABLES[:2], TABLES[2:]):
                connection.execute("begin immediate")
                for table in tables:
                    insert_raw(connection, table, rows[table])
                connection.execute("commit")

        taken_s = median_s([partial(store, rows) for rows in uploads])
    bare.dispose()
    return taken_s


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--postgres", default="", help="URL of an empty PostgreSQL database")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / f"{name}.db" for name in ("service", "core", "judged", "raw")]
        engine = prepared(f"sqlite:///{paths[0]}")
        sqlite_s = service_s(engine)
        bare_s = core_s(engine, paths[1])
        engine.dispose()
        print(f"observations of an upload, {2 * WORKLOADS} series x 20 samples")
        print(f"{'':24}{'uploads/s':>10}{'of bare Core':>14}{'goal':>7}")
        results = [("bare Core, SQLite", bare_s, ""), ("service, SQLite", sqlite_s, "0.85")]
        if arguments.postgres:
            postgres = prepared(arguments.postgres)
            results.append(("service, PostgreSQL", service_s(postgres), "1.3"))
            postgres.dispose()
        for name, taken_s, goal in results:
            print(f"{name:24}{1 / taken_s:10.0f}{bare_s / taken_s:14.2f}{goal:>7}")
        engine = prepared(f"sqlite:///{paths[2]}")
        stored_s = judged_s(engine)
        same_s = raw_s(engine, paths[3])
        engine.dispose()
    print(
        f"\na judged upload: {1000 * stored_s:.1f} ms, raw sqlite3 with the same rows "
        f"{1000 * same_s:.1f} ms: {stored_s / same_s:.1f} times (goal 3)"
    )


if __name__ == "__main__":
    main()

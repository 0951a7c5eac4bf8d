"""Fills a database with a quarter of checks: rows as the service writes them, values made up."""

import argparse
import gzip
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from random import Random

import msgspec
from sqlalchemy import Engine, insert
from sqlmodel import Session

from perfledger.bundle import Bundle, FleetUse, Plan, PricingConfig
from perfledger.metrics import CPU_ACTIVE, STEP_TIME
from perfledger.records import Device, Machine, Revision, Side, WorkloadSpec
from perfledger.rounding import integer
from perfledger_service.store.database import open_engine, write_session
from perfledger_service.store.observations import pack, series_key
from perfledger_service.store.tables import (
    BranchCommitRow,
    BundleRow,
    EnvironmentRow,
    ObservationRow,
    ProjectRow,
    RevisionRow,
    SeriesRow,
    UploadRow,
    VerdictRow,
)
from perfledger_service.store.upgrade import upgrade
from perfledger_service.values.upload_views import UploadStatus

OBSERVATIONS = 1_000_000
REPOSITORY = "bench/mark"
WORKLOADS = 100  # two metrics each, two sides: 400 observations a check
PER_CHECK = 4 * WORKLOADS
SAMPLES = 20
START = datetime(2026, 7, 1, tzinfo=UTC)
DAYS = 92
LANDED_EVERY = 25  # checks
BRANCH_EVERY = 5  # checks: the others are of pull requests
MACHINE = Machine(device=Device.CUDA, model="NVIDIA H100 80GB HBM3", memory_bytes=85_520_809_984)


@dataclass(frozen=True, slots=True)
class FilledStore:
    """A fresh SQLite database with a quarter of checks, in a folder of its own."""

    folder: Path
    checks: int

    @property
    def url(self) -> str:
        """Return the database's URL."""
        return f"sqlite:///{self._path}"

    @property
    def size(self) -> str:
        """Return how much is in it, in words."""
        observations = self.checks * PER_CHECK
        mib = self._path.stat().st_size / 2**20
        return (
            f"{self.checks:,} checks, {observations:,} observations, "
            f"{observations * SAMPLES:,} samples, {integer(mib)} MiB of SQLite"
        )

    @property
    def _path(self) -> Path:
        return self.folder / "perfledger.db"


@contextmanager
def filled_store() -> Generator[FilledStore]:
    """Fill a database of the size that the command line asks for; it is deleted at the end."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--observations", type=int, default=OBSERVATIONS)
    checks = parser.parse_args().observations // PER_CHECK
    with tempfile.TemporaryDirectory() as folder:
        store = FilledStore(Path(folder), checks)
        upgrade(store.url)
        engine = open_engine(store.url)
        fill(engine, checks)
        engine.dispose()
        yield store


def workloads() -> tuple[WorkloadSpec, ...]:
    return tuple(
        WorkloadSpec(
            id=f"bench.w{n}:step",
            module=f"bench.w{n}",
            function="step",
            unit="tokens",
            units_per_step=8192.0,
        )
        for n in range(WORKLOADS)
    )


def a_bundle() -> Bundle:
    fleet = FleetUse(
        workload="bench.*", where="p5.48xlarge/on_demand", device_hours_per_year=3000.0
    )
    return Bundle(
        id="0" * 32,
        created_at=START.isoformat(),
        base=Revision(sha="a" * 40),
        head=Revision(sha="b" * 40),
        machine=MACHINE,
        plan=Plan(seed=1, order=("base",) * 4, looks=(4,)),
        workloads=workloads(),
        metrics=(STEP_TIME, CPU_ACTIVE),
        runs=(),
        pricing=PricingConfig(fleet=(fleet,)),
        repository=REPOSITORY,
    )


def fill(engine: Engine, checks: int) -> None:
    noise = Random(1)
    samples = pack([0.01] * SAMPLES, "f4")
    bundle = a_bundle()
    with write_session(engine) as session:
        session.exec(
            insert(ProjectRow),
            params=[
                {"id": 1, "repository": REPOSITORY, "repository_key": REPOSITORY,
                 "created_at": START, "trust_runners": True}
            ],
        )  # fmt: skip
        session.exec(
            insert(EnvironmentRow),
            params=[
                {
                    "hash": "e",
                    "machine_class": MACHINE.machine_class,
                    "machine": msgspec.json.encode(MACHINE).decode(),
                }
            ],
        )
        series = [
            {
                "id": 2 * n + m + 1,
                "project_id": 1,
                "key": series_key(spec.id, metric.name, MACHINE.machine_class),
                "workload": spec.id,
                "metric": metric.name,
                "unit": metric.unit,
                "worse": metric.worse,
                "machine_class": MACHINE.machine_class,
                "sample_type": "f4",
            }
            for n, spec in enumerate(workloads())
            for m, metric in enumerate((STEP_TIME, CPU_ACTIVE))
        ]
        session.exec(insert(SeriesRow), params=series)
        add_commits(session, checks)
        for check in range(checks):
            content = replace(bundle, id=f"{check:032x}").to_json().encode()
            digest, upload = sha256(content).hexdigest(), f"{check:032x}"
            packed = {
                "sha256": digest,
                "unpacked_bytes": len(content),
                "content": gzip.compress(content, 1),
            }
            session.exec(insert(BundleRow), params=[packed])
            session.exec(insert(UploadRow), params=[upload_values(check, checks, digest)])
            rows = [
                {
                    "series_id": one["id"],
                    "position": check + (side is Side.HEAD),
                    "upload_id": upload,
                    "side": side,
                    "processes": 4,
                    "center": (center := 0.01 * (1 + 0.01 * noise.random())),
                    "low": center * 0.999,
                    "high": center * 1.001,
                    "samples": samples,
                }
                for one in series
                for side in Side
            ]
            session.exec(insert(ObservationRow), params=rows)
            if check % LANDED_EVERY == 0:
                session.exec(insert(VerdictRow), params=[verdict_values(upload)])
        session.commit()


def add_commits(session: Session, checks: int) -> None:
    """Store a commit before each check and one after the last: their positions are their places."""
    commits = [
        {
            "project_id": 1,
            "position": position,
            "sha": f"{position:040x}",
            # Base and head of a check of the branch.
            "is_claimed": position % BRANCH_EVERY in (0, 1),
        }
        for position in range(checks + 1)
    ]
    session.exec(insert(RevisionRow), params=commits)
    branch = [
        {"project_id": 1, "place": commit["position"], "sha": commit["sha"]}
        for commit in commits
        if commit["is_claimed"]
    ]
    session.exec(insert(BranchCommitRow), params=branch)


def moment(check: int, checks: int) -> datetime:
    return START + timedelta(days=DAYS * check / checks)


def upload_values(check: int, checks: int, digest: str) -> dict[str, object]:
    return {
        "id": f"{check:032x}",
        "project_id": 1,
        "bundle_sha256": digest,
        "environment_hash": "e",
        "pull_request": None if check % BRANCH_EVERY == 0 else check,
        "base_sha": f"{check:040x}",
        "head_sha": f"{check + 1:040x}",
        "head_subject": "a change",
        "status": UploadStatus.JUDGED,
        "reason": "",
        "attempt": 1,
        "conclusion": "success",
        "title": "",
        "headline": "",
        "created_at": moment(check, checks),
        "measured_at": moment(check, checks),
        "judged_at": moment(check, checks),
    }


def verdict_values(upload: str) -> dict[str, object]:
    return {
        "upload_id": upload,
        "position": 0,
        "workload": "bench.w0:step",
        "metric": STEP_TIME.name,
        "unit": "s",
        "worse": "higher",
        "kind": STEP_TIME.kind,
        "scale": STEP_TIME.scale,
        "outcome": "regressed",
        "change": 0.05,
        "low": 0.04,
        "high": 0.06,
        "adjusted_p": 0.001,
        "is_warning": False,
        "reason": "",
    }

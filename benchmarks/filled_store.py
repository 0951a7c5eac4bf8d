"""Fills a database with a quarter of checks: rows as the service writes them, values made up."""

import gzip
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from random import Random

import msgspec
from sqlalchemy import Engine, insert

from perfledger.bundle import Bundle, FleetUse, Plan, PricingConfig
from perfledger.metrics import CPU_ACTIVE, STEP_TIME
from perfledger.records import Device, Machine, Revision, Side, WorkloadSpec
from perfledger_service.store.database import write_session
from perfledger_service.store.observations import pack, series_key
from perfledger_service.store.tables import (
    BundleRow,
    EnvironmentRow,
    ObservationRow,
    ProjectRow,
    RevisionRow,
    SeriesRow,
    UploadRow,
    VerdictRow,
)
from perfledger_service.values.upload_views import UploadStatus

OBSERVATIONS = 1_000_000
REPOSITORY = "bench/mark"
WORKLOADS = 100  # two metrics each, two sides: 400 observations a check
PER_CHECK = 4 * WORKLOADS
SAMPLES = 20
START = datetime(2026, 7, 1, tzinfo=UTC)
DAYS = 92
LANDED_EVERY = 25  # checks; of the default branch every fifth
MACHINE = Machine(device=Device.CUDA, model="NVIDIA H100 80GB HBM3", memory_bytes=85_520_809_984)


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
    made = a_bundle()
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
                    "device_class": MACHINE.device_class,
                    "machine": msgspec.json.encode(MACHINE).decode(),
                }
            ],
        )
        series = [
            {
                "id": 2 * n + m + 1,
                "project_id": 1,
                "key": series_key(spec.id, metric.name, MACHINE.device_class),
                "workload": spec.id,
                "metric": metric.name,
                "unit": metric.unit,
                "worse": metric.worse,
                "device_class": MACHINE.device_class,
                "sample_type": "f4",
            }
            for n, spec in enumerate(workloads())
            for m, metric in enumerate((STEP_TIME, CPU_ACTIVE))
        ]
        session.exec(insert(SeriesRow), params=series)
        for check in range(checks):
            content = replace(made, id=f"{check:032x}").to_json().encode()
            digest, upload = sha256(content).hexdigest(), f"{check:032x}"
            packed = {
                "sha256": digest,
                "unpacked_bytes": len(content),
                "content": gzip.compress(content, 1),
            }
            session.exec(insert(BundleRow), params=[packed])
            session.exec(insert(UploadRow), params=[upload_values(check, checks, digest)])
            session.exec(
                insert(RevisionRow),
                params=[{"project_id": 1, "position": check, "sha": f"{check:040x}"}],
            )
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


def moment(check: int, checks: int) -> datetime:
    return START + timedelta(days=DAYS * check / checks)


def upload_values(check: int, checks: int, digest: str) -> dict[str, object]:
    return {
        "id": f"{check:032x}",
        "project_id": 1,
        "bundle_sha256": digest,
        "environment_hash": "e",
        "pull_request": None if check % 5 == 0 else check,
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

"""How long the service takes for a bundle of 200 metrics x 20 samples, against a bare request.

Starts a real service on a fresh SQLite database on loopback and uploads bundles one after another.
Prints the medians, their ratios in this one run, and how long judging took after the answer.
Then the processor time of one upload of 25 workloads, received, judged and stored in this process
by the functions that the service calls: the goal is 60 ms.
"""

import gzip
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from random import Random

import httpx

from perfledger.bundle import Bundle, Plan
from perfledger.metrics import CPU_ACTIVE, STEP_TIME
from perfledger.records import Device, Machine, Revision, Run, Side, WorkloadSpec
from perfledger.rounding import decimals, integer
from perfledger_runners.bundles.files import read_bundle
from perfledger_service.store.database import open_engine
from perfledger_service.store.upgrade import upgrade
from perfledger_service.usecases.check.report_builder import build_report
from perfledger_service.usecases.server.project import add_project, project_of_name
from perfledger_service.usecases.uploads.reports import UploadReports
from perfledger_service.usecases.uploads.uploads import judge_upload, receive_bundle

UPLOADS = 20
WORKLOADS = 100  # two metrics each
FEW_WORKLOADS = 25
FIRST_UPLOADS = 5  # not counted: they fill the caches of the database and of compiled queries
TOKEN = "pl_0123abcd_" + "s" * 43
NOW = datetime(2026, 11, 20, tzinfo=UTC)
PAIRS, SAMPLES = 4, 5  # 20 samples of every metric on each side
REPOSITORY = "bench/mark"


def bundle(seed: int, workload_count: int = WORKLOADS) -> bytes:
    noise = Random(seed)
    workloads = tuple(
        WorkloadSpec(id=f"bench.w{n}:step", module=f"bench.w{n}", function="step")
        for n in range(workload_count)
    )
    runs = tuple(
        Run(
            workload=spec.id,
            side=side,
            pair=pair,
            position=position,
            process=2 * pair + position,
            started_at="2026-11-20T00:00:00+00:00",
            samples={
                STEP_TIME.name: tuple(0.01 + 0.0001 * noise.random() for _ in range(SAMPLES)),
                CPU_ACTIVE.name: tuple(0.9 + 0.01 * noise.random() for _ in range(SAMPLES)),
            },
        )
        for spec in workloads
        for pair in range(PAIRS)
        for position, side in enumerate(Side)
    )
    new_bundle = Bundle(
        id=f"{seed:032x}",
        created_at="2026-11-20T00:00:00+00:00",
        base=Revision(sha="a" * 40),
        head=Revision(sha=f"{seed:040x}"),
        machine=Machine(device=Device.CPU, model="benchmark"),
        plan=Plan(seed=seed, order=("base",) * PAIRS, looks=(PAIRS,)),
        workloads=workloads,
        metrics=(STEP_TIME, CPU_ACTIVE),
        runs=runs,
        repository=REPOSITORY,
    )
    return new_bundle.to_json().encode()


def perfledger(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "perfledger_service", *arguments]


def seconds(act: Callable[[], object]) -> float:
    start = time.perf_counter()
    act()
    return time.perf_counter() - start


def measure(url: str, token: str) -> None:
    client = httpx.Client(base_url=url, headers={"Authorization": f"Bearer {token}"}, timeout=60)
    bundles = [bundle(seed) for seed in range(1, UPLOADS + 1)]
    bare, uploads, judged, reading = [], [], [], []
    for content in bundles:
        bare.append(seconds(lambda: client.get("/healthz").raise_for_status()))
        reading.append(seconds(partial(read_bundle, content)))
        start = time.perf_counter()
        answer = client.post("/api/v1/uploads", content=content).raise_for_status().json()
        uploads.append(time.perf_counter() - start)
        while answer["status"] == "received":
            answer = client.get(f"/api/v1/uploads/{answer['id']}").raise_for_status().json()
        judged.append(time.perf_counter() - start)
    base = statistics.median(bare)
    print(
        f"{UPLOADS} bundles of {2 * WORKLOADS} metrics x {PAIRS * SAMPLES} samples a side,", end=" "
    )
    print(f"{integer(len(bundles[0]) / 1000)} kB each; medians, and as multiples of a bare request")
    for name, values in (
        ("bare request (/healthz)", bare),
        ("reading the bundle alone", reading),
        ("upload, stored and answered", uploads),
        ("upload to verdict", judged),
    ):
        middle = statistics.median(values)
        print(f"  {name:30}{1000 * middle:8.1f} ms{middle / base:9.1f}x")


def measure_processor_time(url: str) -> None:
    upgrade(url)
    engine, reports = open_engine(url), UploadReports(build_report)
    add_project(engine, REPOSITORY, token=TOKEN, now=NOW)
    project = project_of_name(engine, REPOSITORY)
    times_ms: list[float] = []
    for number in range(UPLOADS + FIRST_UPLOADS):
        content = gzip.compress(bundle(number, FEW_WORKLOADS), mtime=0)
        start = time.process_time()
        upload = receive_bundle(
            engine, content, project=project, upload_id=f"{number:032x}", now=NOW, reports=reports
        )
        judge_upload(engine, upload.id, reports=reports, now=NOW)
        times_ms.append(1000 * (time.process_time() - start))
    counted = sorted(times_ms[FIRST_UPLOADS:])
    print(f"\nprocessor time of an upload of {FEW_WORKLOADS} workloads, received, judged, stored:")
    print(
        f"  median {decimals(statistics.median(counted), 1)} ms, from "
        f"{decimals(counted[0], 1)} to {decimals(counted[-1], 1)}"
    )


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        measure_processor_time(f"sqlite:///{Path(folder) / 'perfledger.db'}")
    with tempfile.TemporaryDirectory() as folder:
        database = f"sqlite:///{Path(folder) / 'perfledger.db'}"
        environment = os.environ | {"PERFLEDGER_DATABASE_URL": database}
        subprocess.check_output(perfledger("server", "db", "upgrade"), env=environment)
        added = perfledger("server", "project", "add", REPOSITORY)
        token = subprocess.check_output(added, env=environment, text=True).strip()
        log = (Path(folder) / "serve.log").open("w")
        service = subprocess.Popen(
            perfledger("server", "run", "--port", "0"),
            env=environment,
            text=True,
            stdout=subprocess.PIPE,
            stderr=log,
        )
        try:
            assert service.stdout is not None
            measure(service.stdout.readline().split()[-1], token)
        finally:
            service.terminate()
            service.wait()
            log.close()


if __name__ == "__main__":
    main()

"""How fast the service judges and answers on a store of 20 million samples.

    python benchmarks/service/service_scale.py [--observations 1000000]

Fills a fresh SQLite database with a quarter of checks. Uploads of 2,000 series are received and
judged on it, and the history is searched, by the functions that the service calls. Then it is
served on loopback: the memory of the process at rest and at most while it judges such uploads, and
for each page the 95th percentile of the time to the last byte, the processor time of one answer,
and its size. Goals: pages 100 ms, judging 300 ms, memory 220 MB. MALLOC_ARENA_MAX=2 in the
environment is what the container and the unit of systemd have.
"""

import gzip
import os
import statistics
import subprocess
import time
from datetime import timedelta
from functools import partial
from pathlib import Path

import httpx
import numpy as np
from filled_store import DAYS, REPOSITORY, START, FilledStore, filled_store
from upload import TOKEN, bundle, perfledger

from perfledger.rounding import decimals, integer
from perfledger_service.store.database import open_engine
from perfledger_service.usecases.check.report_builder import build_report
from perfledger_service.usecases.events.search import search_events
from perfledger_service.usecases.server.project import add_project, project_of_name
from perfledger_service.usecases.uploads.reports import UploadReports
from perfledger_service.usecases.uploads.uploads import judge_upload, receive_bundle
from perfledger_service.web.server import collect_less_often

NOW = START + timedelta(days=DAYS + 1)
PAGE_GOAL_MS, JUDGING_GOAL_MS = 100.0, 300.0
REQUESTS = 40  # of each page; the first of each is not counted, as its caches are empty
UPLOADS = 20
SERVED_UPLOADS = 4
MEMORY_GOAL_MB = 220.0
POLL_S = 0.2
FIRST_SEED = 2**24  # which is the head's SHA: the store has none of them
MANY_WORKLOADS, FEW_WORKLOADS = 1000, 25  # two metrics each
SMALL_UPLOAD = f"{2**65:032x}"


def upload_id(number: int) -> str:
    return f"{2**64 + number:032x}"


def pages(checks: int) -> dict[str, str]:
    last = checks - 1
    pull_request = last if last % 5 else last - 1
    return {
        "newest uploads": "/",
        "default branch": f"/{REPOSITORY}",
        "workloads": f"/{REPOSITORY}/workloads",
        "one workload": f"/{REPOSITORY}/workloads/bench.w7:step",
        "pull requests": f"/{REPOSITORY}/pulls",
        "a pull request": f"/{REPOSITORY}/pull/{pull_request}",
        "check, 50 series": f"/runs/{SMALL_UPLOAD}",
        "check, 2,000 series": f"/runs/{upload_id(UPLOADS)}",
        "a series": "/series/1",
        "machines": f"/{REPOSITORY}/machines",
        "capacity": "/capacity",
    }


def processor_s(process: subprocess.Popen[str]) -> float:
    fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def memory_mb(process: subprocess.Popen[str], name: str) -> float:
    status = Path(f"/proc/{process.pid}/status").read_text()
    (kilobytes,) = (line.split()[1] for line in status.splitlines() if line.startswith(name))
    return int(kilobytes) * 1024 / 1e6


def measure_memory(service: subprocess.Popen[str], url: str) -> None:
    with httpx.Client(
        base_url=url, timeout=600, headers={"Authorization": f"Bearer {TOKEN}"}
    ) as client:
        client.get("/healthz").raise_for_status()
        at_rest = memory_mb(service, "VmRSS:")
        for number in range(SERVED_UPLOADS):
            content = gzip.compress(bundle(FIRST_SEED + UPLOADS + 2 + number, MANY_WORKLOADS))
            upload = client.post("/api/v1/uploads", content=content).raise_for_status().json()
            while upload["status"] == "received":
                time.sleep(POLL_S)
                answer = client.get(f"/api/v1/uploads/{upload['id']}")
                upload = answer.raise_for_status().json()
    most = memory_mb(service, "VmHWM:")
    print(
        f"memory: {integer(at_rest)} MB at rest, at most {integer(most)} MB in "
        f"{SERVED_UPLOADS} uploads of "
        f"{2 * MANY_WORKLOADS:,} series (goal {integer(MEMORY_GOAL_MB)} MB)\n"
    )


def measure_pages(service: subprocess.Popen[str], url: str, checks: int) -> None:
    print(f"{'page':20}{'p95 ms':>9}{'processor ms':>14}{'kB':>8}")
    with httpx.Client(base_url=url, timeout=600) as client:
        for name, path in pages(checks).items():
            size = len(client.get(path).raise_for_status().content)
            times_s: list[float] = []
            before_s = processor_s(service)
            for _ in range(REQUESTS):
                start = time.perf_counter()
                client.get(path).raise_for_status()
                times_s.append(time.perf_counter() - start)
            used_ms = 1000 * (processor_s(service) - before_s) / REQUESTS
            p95_ms = 1000 * float(np.quantile(times_s, 0.95))
            mark = "" if p95_ms <= PAGE_GOAL_MS else "  over the goal"
            print(f"{name:20}{p95_ms:9.1f}{used_ms:14.1f}{size / 1000:8.0f}{mark}")


def measure_judging(store: FilledStore) -> None:
    collect_less_often()
    engine, reports = open_engine(store.url), UploadReports(build_report)
    add_project(engine, REPOSITORY, token=TOKEN, now=NOW)
    project = project_of_name(engine, REPOSITORY)
    receive = partial(receive_bundle, engine, project=project, now=NOW, reports=reports)
    judging_ms: list[float] = []
    for number in range(1, UPLOADS + 1):
        content = bundle(FIRST_SEED + number, MANY_WORKLOADS)
        upload = receive(content, upload_id=upload_id(number))
        start = time.process_time()
        judge_upload(engine, upload.id, reports=reports, now=NOW)
        judging_ms.append(1000 * (time.process_time() - start))
    content = bundle(FIRST_SEED + UPLOADS + 1, FEW_WORKLOADS)
    upload = receive(content, upload_id=SMALL_UPLOAD)
    judge_upload(engine, upload.id, reports=reports, now=NOW)
    start = time.process_time()
    search_events(engine, now=NOW)
    search_s = time.process_time() - start
    engine.dispose()
    print(
        f"judging {2 * MANY_WORKLOADS:,} series, processor time: median "
        f"{integer(statistics.median(judging_ms[1:]))} ms, p95 "
        f"{integer(np.quantile(judging_ms[1:], 0.95))} "
        f"ms (goal {integer(JUDGING_GOAL_MS)} ms)\n"
        f"searching the history of the default branch: {decimals(search_s, 1)} s\n"
    )


def main() -> None:
    with filled_store() as store:
        print(store.size)
        measure_judging(store)
        service = subprocess.Popen(
            perfledger("server", "run", "--port", "0"),
            env=os.environ | {"PERFLEDGER_DATABASE_URL": store.url},
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        try:
            assert service.stdout is not None
            url = service.stdout.readline().split()[-1]
            measure_memory(service, url)
            measure_pages(service, url, store.checks)
        finally:
            service.terminate()
            service.wait()


if __name__ == "__main__":
    main()

"""Whether a service that is killed at random moments loses or repeats anything.

    python benchmarks/service/random_kills.py [--kills 100] [--minutes 60] [--replicas 3]
        [--postgres postgresql+psycopg://USER@HOST/EMPTY_DATABASE] [--seed 1]

Clients upload checks of pull requests, a few at a time, while a process of the service is killed
with SIGKILL at a random moment after it began to serve, and started again: SQLite has one process,
PostgreSQL as many as asked for. GitHub is the stand-in of `examples/`. In the end each upload that
was acknowledged must be posted, with one comment and one check run that has the right conclusion;
comments that were created and deleted again are counted, too. Exits with 1 otherwise.
"""

import argparse
import math
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Generator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

import httpx
from upload import NOW, REPOSITORY, TOKEN, perfledger

from perfledger.bundle import Bundle, Plan
from perfledger.metrics import STEP_TIME
from perfledger.records import Device, Machine, Revision, Run, Side, WorkloadSpec
from perfledger.rounding import decimals, integer
from perfledger.time_units import SECONDS_PER_MINUTE
from perfledger_service.store.database import open_engine
from perfledger_service.store.upgrade import upgrade
from perfledger_service.usecases.server.project import add_project

CLIENTS = 3  # uploads at a time
# Processes live at most so many times as long as an upload takes: 3 s as writes are a second apart,
# and longer beside other programs.
MAX_LIFE = 3.0
POLL_S = 0.1
FINISH_S = 300.0  # for what is under way after the last kill
PAIRS, SAMPLES = 6, 5  # enough to prove both a change of 20 % and none
GITHUB_TOKEN = "ghp_" + "0" * 36
STAND_IN = Path(__file__).parents[2] / "examples" / "github_stand_in.py"
OK, ACCEPTED = 200, 202
HEADERS = {"Authorization": f"Bearer {TOKEN}"}


Started = tuple[subprocess.Popen[str], str]  # a process and its address
Starter = Callable[[], AbstractContextManager[Started]]


@contextmanager
def process_with_url(
    command: list[str], environment: Mapping[str, str], log: Path
) -> Generator[Started]:
    """Run a program that prints its address; it is ended at last."""
    with log.open("a") as stream:
        process = subprocess.Popen(
            command, env=environment, text=True, stdout=subprocess.PIPE, stderr=stream
        )
    assert process.stdout is not None
    try:
        yield process, process.stdout.readline().split()[-1]
    finally:
        if process.poll() is None:
            process.terminate()
        process.wait()
        process.stdout.close()


@dataclass(slots=True)
class Site:
    """The processes of the service, by their addresses, and what their clients know."""

    github: str
    processes: dict[str, subprocess.Popen[str]] = field(
        default_factory=dict[str, subprocess.Popen[str]]
    )
    acknowledged: dict[int, str] = field(default_factory=dict[int, str])  # pull request → upload
    unanswered: int = 0  # requests of which the process died
    next_number: int = 1
    max_life_s: float = math.inf
    ends_at: float = math.inf  # when clients give up; they begin nothing new once it is known
    answers: list[str] = field(default_factory=list[str])  # other than an acknowledgement
    lock: threading.Lock = field(default_factory=threading.Lock)

    def addresses(self) -> tuple[str, ...]:
        with self.lock:
            return tuple(self.processes)

    def take_number(self) -> int:
        with self.lock:
            self.next_number += 1
            return self.next_number - 1


def is_slower(number: int) -> bool:
    return number % 2 == 0


def head_sha(number: int) -> str:
    return f"{number:040x}"


def upload_until_the_end(site: Site, random: Random) -> None:
    """Upload a check of one new pull request after another, and wait a while for its post."""
    with httpx.Client(timeout=60, headers=HEADERS) as client:
        while site.ends_at == math.inf:
            upload_next(site, client, random)


def upload_next(site: Site, client: httpx.Client, random: Random) -> None:
    """Upload a check of a new pull request, and wait for its post."""
    number = site.take_number()
    pull = {"repository": REPOSITORY, "number": number, "head_sha": head_sha(number)}
    httpx.post(f"{site.github}/_stand_in/pulls", json=pull).raise_for_status()
    upload_id = upload(site, client, a_bundle(number), random)
    if upload_id:
        site.acknowledged[number] = upload_id
        wait_for_post(site, client, upload_id, random)


def seconds_of_an_upload(site: Site, random: Random) -> float:
    """Return how long the second upload takes, until it is posted, on this machine now."""
    with httpx.Client(timeout=60, headers=HEADERS) as client:
        upload_next(site, client, random)
        began = time.monotonic()
        upload_next(site, client, random)
        return time.monotonic() - began


def a_bundle(number: int) -> bytes:
    noise = Random(number)
    ratio = 1.2 if is_slower(number) else 1.0
    runs = tuple(
        Run(
            workload="bench:step",
            side=side,
            pair=pair,
            position=position,
            process=2 * pair + position,
            started_at=NOW.isoformat(),
            samples={
                STEP_TIME.name: tuple(
                    0.01 * (ratio if side is Side.HEAD else 1.0) * (1 + 0.001 * noise.gauss())
                    for _ in range(SAMPLES)
                )
            },
        )
        for pair in range(PAIRS)
        for position, side in enumerate(Side)
    )
    bundle = Bundle(
        id=f"{number:032x}",
        created_at=NOW.isoformat(),
        base=Revision(sha="a" * 40),
        head=Revision(sha=head_sha(number)),
        machine=Machine(device=Device.CPU, model="benchmark"),
        plan=Plan(seed=number, order=("base",) * PAIRS, looks=(4, PAIRS)),
        workloads=(WorkloadSpec(id="bench:step", module="bench", function="step"),),
        metrics=(STEP_TIME,),
        runs=runs,
        repository=REPOSITORY,
        pull_request=number,
    )
    return bundle.to_json().encode()


def upload(site: Site, client: httpx.Client, content: bytes, random: Random) -> str:
    """Send a bundle until a process acknowledges it; return the upload's id, "" if none did."""
    while time.monotonic() < site.ends_at:
        for address in random.sample(addresses := site.addresses(), len(addresses)):
            try:
                answer = client.post(f"{address}/api/v1/uploads", content=content)
            except httpx.TransportError:
                with site.lock:
                    site.unanswered += 1
                continue
            if answer.status_code == ACCEPTED:
                return str(answer.json()["id"])
            site.answers.append(f"{answer.status_code}: {answer.text[:200]}")
        time.sleep(POLL_S)
    return ""


def wait_for_post(site: Site, client: httpx.Client, upload_id: str, random: Random) -> None:
    """Wait until an upload is posted, at most as long as a process lives."""
    until = time.monotonic() + site.max_life_s
    while time.monotonic() < until:
        for address in random.sample(addresses := site.addresses(), len(addresses)):
            try:
                answer = client.get(f"{address}/api/v1/uploads/{upload_id}")
            except httpx.TransportError:
                continue
            if answer.status_code == OK and answer.json()["status"] == "posted":
                return
        time.sleep(POLL_S)


def kill_at_random(
    site: Site,
    stack: ExitStack,
    start: Starter,
    arguments: argparse.Namespace,
    random: Random,
) -> int:
    """Kill processes and start new ones; return how many were killed."""
    ends_at = time.monotonic() + arguments.minutes * SECONDS_PER_MINUTE
    kills = 0
    while kills < arguments.kills and time.monotonic() < ends_at:
        time.sleep(random.uniform(0.0, site.max_life_s))
        address = random.choice(site.addresses())
        with site.lock:
            victim = site.processes.pop(address)
        victim.kill()
        victim.wait()
        kills += 1
        process, new_address = stack.enter_context(start())
        with site.lock:
            site.processes[new_address] = process
        if kills % 10 == 0:
            print(f"{kills} kills, {len(site.acknowledged)} uploads acknowledged", flush=True)
    return kills


def statuses(site: Site) -> Counter[str]:
    """Return how many acknowledged uploads have each status, as the first process says."""
    address = site.addresses()[0]
    with httpx.Client(base_url=address, timeout=600, headers=HEADERS) as client:
        answers = (client.get(f"/api/v1/uploads/{one}") for one in site.acknowledged.values())
        return Counter(one.json()["status"] if one.status_code == OK else "lost" for one in answers)


def faults_at_github(site: Site) -> list[str]:
    """Return what GitHub shows otherwise than the uploads say."""
    state = httpx.get(f"{site.github}/_stand_in/state", timeout=600).json()
    at_github = state["repositories"][REPOSITORY]
    comments = Counter(one["number"] for one in at_github["comments"].values())
    checks: dict[str, list[str]] = {}
    for one in at_github["check_runs"].values():
        checks.setdefault(one["head_sha"], []).append(one.get("conclusion"))
    faults: list[str] = []
    for number in site.acknowledged:
        right = ["failure" if is_slower(number) else "success"]
        if comments[number] != 1:
            faults.append(f"pull request {number} has {comments[number]} comments")
        if checks.get(head_sha(number)) != right:
            faults.append(f"pull request {number} has checks {checks.get(head_sha(number))}")
    created = sum(
        one["method"] == "POST" and one["path"].endswith("/comments") for one in state["requests"]
    )
    print(f"{created} comments created, {sum(comments.values())} there")
    return faults


def read_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--minutes", type=float, default=math.inf, help="kill no longer than this")
    parser.add_argument("--replicas", type=int, default=1)
    parser.add_argument("--postgres", default="", help="URL of an empty PostgreSQL database")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    if arguments.replicas > 1 and not arguments.postgres:
        parser.error("several replicas need --postgres")
    return arguments


def main() -> None:
    arguments = read_arguments()
    random = Random(arguments.seed)
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        log = Path(folder) / "log"
        url = arguments.postgres or f"sqlite:///{Path(folder) / 'perfledger.db'}"
        upgrade(url)
        engine = open_engine(url)
        add_project(engine, REPOSITORY, token=TOKEN, now=NOW)
        engine.dispose()
        stand_in = [sys.executable, str(STAND_IN), "--port", "0"]
        _, github = stack.enter_context(process_with_url(stand_in, os.environ, log))
        environment = os.environ | {
            "PERFLEDGER_DATABASE_URL": url,
            "PERFLEDGER_GITHUB_API_URL": github,
            "PERFLEDGER_GITHUB_TOKEN": GITHUB_TOKEN,
        }
        command = perfledger("server", "run", "--port", "0")

        def start() -> AbstractContextManager[Started]:
            return process_with_url(command, environment, log)

        site = Site(github)
        for _ in range(arguments.replicas):
            process, address = stack.enter_context(start())
            site.processes[address] = process
        clients = [
            threading.Thread(
                target=upload_until_the_end, args=(site, Random(arguments.seed + one)), daemon=True
            )
            for one in range(1, CLIENTS + 1)
        ]
        site.max_life_s = MAX_LIFE * seconds_of_an_upload(site, random)
        print(f"processes live at most {decimals(site.max_life_s, 1)} s", flush=True)
        began = time.monotonic()
        for client in clients:
            client.start()
        kills = kill_at_random(site, stack, start, arguments, random)
        site.ends_at = time.monotonic() + FINISH_S
        for client in clients:
            client.join()
        report(site, kills=kills, began=began)


def report(site: Site, *, kills: int, began: float) -> None:
    """Wait for the posts that are due, print what came of the uploads, and exit."""
    while set(statuses(site)) & {"received", "judged"} and time.monotonic() < site.ends_at:
        time.sleep(1.0)
    ends, faults = statuses(site), faults_at_github(site)
    if set(ends) != {"posted"}:
        faults.append(f"not all acknowledged uploads are posted: {dict(ends)}")
    faults += [f"an upload was answered with {one}" for one in site.answers]
    print(
        f"{kills} kills in {integer((time.monotonic() - began) / SECONDS_PER_MINUTE)} min: "
        f"{len(site.acknowledged)} uploads acknowledged, {dict(ends)}, "
        f"{site.unanswered} requests without an answer"
    )
    for fault in faults:
        print(fault)
    sys.exit(bool(faults))


if __name__ == "__main__":
    main()

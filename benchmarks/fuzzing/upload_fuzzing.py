"""Damaged and hostile uploads and webhooks in, how many were read, refused, or broke their reader.

python benchmarks/fuzzing/upload_fuzzing.py [--inputs 100000] [--seed N]

The inputs are shared out evenly over bundles, gzipped bundles and webhooks. A reader answers or
raises its own error; anything else is a failure, and so is more processor time than the budget for
the input's bytes. The goal is none.
"""

import argparse
import gzip
import json
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from random import Random

from rich.console import Console
from rich.progress import track
from rich.table import Table
from trace_mutations import mutated

from perfledger.bundle import Bundle, Plan
from perfledger.metrics import STEP_TIME
from perfledger.records import Device, Machine, Revision, Run, Side, WorkloadSpec
from perfledger.rounding import decimals
from perfledger_runners.bundles.files import read_bundle
from perfledger_runners.bundles.value_checks import BundleError
from perfledger_service.errors import UsageError
from perfledger_service.web.delivery_documents import (
    read_check,
    read_comment,
    read_merge_group,
    read_pull_request,
)

SECONDS_PER_BYTE = 1e-6  # a second a megabyte
# Below it the budget is that of this many bytes: a call takes some microseconds whatever it reads.
MIN_BYTES = 32 * 2**10
# An interruption, such as by the garbage collector, is not repeated; slow input is slow again.
ATTEMPTS = 3
SHOWN = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class FuzzedReader:
    """A reader of what strangers send, with an input to damage and its own error."""

    name: str
    seed: bytes
    read: Callable[[bytes], object]
    error: type[Exception]
    is_gzip: bool = False  # damaged before it is packed


@dataclass(frozen=True, slots=True)
class FuzzedInput:
    """What came of one input: "" for an answer or a refusal, else what was wrong."""

    seconds: float
    size_bytes: int
    failure: str


def readers() -> tuple[FuzzedReader, ...]:
    """Return the readers of uploads and webhooks."""
    bundle = example_bundle().to_json().encode()
    delivery = json.dumps(EXAMPLE_DELIVERY).encode()
    return (
        FuzzedReader(name="bundle", seed=bundle, read=read_bundle, error=BundleError),
        FuzzedReader(
            name="gzipped bundle", seed=bundle, read=read_bundle, error=BundleError, is_gzip=True
        ),
        FuzzedReader(name="webhook: comment", seed=delivery, read=read_comment, error=UsageError),
        FuzzedReader(
            name="webhook: pull request",
            seed=json.dumps(EXAMPLE_EDIT).encode(),
            read=read_pull_request,
            error=UsageError,
        ),
        FuzzedReader(
            name="webhook: check",
            seed=json.dumps(EXAMPLE_RERUN).encode(),
            read=read_check,
            error=UsageError,
        ),
        FuzzedReader(
            name="webhook: merge group",
            seed=json.dumps(EXAMPLE_GROUP).encode(),
            read=read_merge_group,
            error=UsageError,
        ),
    )


def inputs(reader: FuzzedReader, count: int, *, seed: int) -> Iterator[bytes]:
    """Yield damaged inputs of a reader, the same ones for the same seed."""
    for number in range(count):
        rng = Random(f"{seed} {reader.name} {number}")
        data = mutated(reader.seed, [reader.seed], rng)
        yield gzip.compress(data, 1, mtime=0) if reader.is_gzip else data


def tried(reader: FuzzedReader, data: bytes, *, seconds_per_byte: float) -> FuzzedInput:
    """Return what came of reading one input within its budget of processor time."""
    size = max(len(data), MIN_BYTES)
    seconds = float("inf")
    for _ in range(ATTEMPTS):
        began = time.thread_time()
        try:
            reader.read(data)
        except reader.error:
            pass
        except Exception as error:
            return FuzzedInput(0.0, len(data), f"{type(error).__name__}: {error}"[:200])
        seconds = min(seconds, time.thread_time() - began)
        if seconds <= seconds_per_byte * size:
            return FuzzedInput(seconds, len(data), "")
    return FuzzedInput(seconds, len(data), f"{decimals(seconds, 3)} s for {len(data)} bytes")


def main() -> int:
    """Try all inputs, print a table, and return 1 if any failed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--inputs", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    table = Table("reader", "inputs", "failures", "slowest s/MB of 32 kB and more")
    failures: list[str] = []
    for reader in readers():
        count = options.inputs // len(readers())
        stream = track(inputs(reader, count, seed=options.seed), reader.name, total=count)
        results = [tried(reader, data, seconds_per_byte=SECONDS_PER_BYTE) for data in stream]
        bad = [f"{reader.name}: {one.failure}" for one in results if one.failure]
        rates = [
            one.seconds / one.size_bytes * 1e6 for one in results if one.size_bytes >= MIN_BYTES
        ]
        table.add_row(reader.name, str(count), str(len(bad)), decimals(max(rates, default=0.0), 2))
        failures += bad
    console = Console()
    console.print(table)
    for failure in failures[:SHOWN]:
        console.print(failure, markup=False)
    return 1 if failures else 0


def example_bundle() -> Bundle:
    """Return a small bundle with two pairs of runs."""
    workload = WorkloadSpec(id="gpt:step", module="gpt", function="step", params={"batch": 8})
    runs = tuple(
        Run(
            workload=workload.id,
            side=side,
            pair=pair,
            position=position,
            process=2 * pair + position,
            started_at="2026-11-20T11:00:00+00:00",
            samples={STEP_TIME.name: (0.01, 0.011, 0.0102)},
        )
        for pair in range(2)
        for position, side in enumerate(Side)
    )
    return Bundle(
        id="0123456789abcdef" * 2,
        created_at="2026-11-20T11:00:00+00:00",
        base=Revision(sha="a" * 40, subject="before"),
        head=Revision(sha="b" * 40, subject="after"),
        machine=Machine(device=Device.CPU, model="Test CPU"),
        plan=Plan(seed=1, order=(Side.BASE, Side.HEAD), looks=(2,)),
        workloads=(workload,),
        metrics=(STEP_TIME,),
        runs=runs,
        repository="octo/models",
        pull_request=7,
    )


EXAMPLE_DELIVERY: dict[str, object] = {
    "action": "created",
    "repository": {"id": 1, "full_name": "octo/models", "owner": {"login": "octo"}},
    "issue": {
        "number": 7,
        "state": "open",
        "user": {"login": "ada", "type": "User"},
        "pull_request": {"url": "https://api.github.com/repos/octo/models/pulls/7"},
        "labels": [],
    },
    "comment": {"id": 99, "body": "/perfledger approve b1946ac 12400: worth it", "user": None},
    "sender": {"login": "grace", "type": "User"},
}
_REPOSITORY = {"id": 1, "full_name": "octo/models", "owner": {"login": "octo"}}
EXAMPLE_EDIT: dict[str, object] = {
    "action": "edited",
    "repository": _REPOSITORY,
    "pull_request": {"number": 7, "head": {"sha": "b" * 40}, "base": {"ref": "release"}},
    "changes": {"base": {"ref": {"from": "main"}, "sha": {"from": "a" * 40}}},
    "label": {"name": "perfledger-allow"},
    "sender": {"login": "grace", "type": "User"},
}
EXAMPLE_RERUN: dict[str, object] = {
    "action": "rerequested",
    "repository": _REPOSITORY,
    "check_run": {"head_sha": "b" * 40, "pull_requests": []},
    "sender": {"login": "grace", "type": "User"},
}
EXAMPLE_GROUP: dict[str, object] = {
    "action": "checks_requested",
    "repository": _REPOSITORY,
    "merge_group": {
        "head_sha": "d" * 40,
        "head_ref": f"refs/heads/gh-readonly-queue/main/pr-7-{'a' * 40}",
        "base_sha": "a" * 40,
    },
}

if __name__ == "__main__":
    sys.exit(main())

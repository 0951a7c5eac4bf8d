"""Damaged and hostile profiler files in, how many were read, refused or broke a reader out.

python benchmarks/fuzzing/trace_fuzzing.py [--inputs 100000] [--seed N] [--format F]...
                                           [--seeds FOLDER]
python benchmarks/fuzzing/trace_fuzzing.py --seed N --format F --reproduce NUMBER [--output FILE]

The inputs are shared out evenly over the formats. A reader answers, raises ProfileError, or fails:
any other exception, an answer that is no JSON, more than 4 GiB or a second of processor time. The
goal is none. Each reader runs in a process of its own, so that a crash is counted like the rest.
With --seeds also the files of a folder are mutated (never kept), those that are small enough.
"""

import argparse
import json
import os
import resource
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from multiprocessing import get_context
from pathlib import Path
from random import Random

import msgspec
from rich.console import Console
from rich.progress import Progress
from rich.table import Table
from trace_mutations import mutated, replace_numbers
from trace_seeds import SCRIPTS, made_seeds, rebuilt

from perfledger.profile import Profile
from perfledger.records import Side
from perfledger.rounding import decimals, integer
from perfledger_profiles.formats import READERS, ProfileFormat, detect_format, read_profile
from perfledger_profiles.parsing.errors import ProfileError
from perfledger_profiles.parsing.gzip_input import unpack_gzip

MEMORY_BYTES = 4 * 2**30  # what the agent gives its reader
SECONDS = 1.0  # of the processor: what else runs on the machine does not matter
CHUNK = 250
# A mutation costs a copy of the file and a look at all of it.
MAX_SEED_BYTES = 128 * 2**10
SHOWN = 20


class Outcome(StrEnum):
    ANSWER = "answers"
    REFUSED = "ProfileErrors"
    UNCAUGHT = "uncaught"
    SLOW = "too slow"


@dataclass(frozen=True, slots=True)
class Failure:
    """One input that broke a reader, by its number."""

    format: ProfileFormat
    number: int
    outcome: Outcome
    what: str


@dataclass(frozen=True, slots=True)
class Chunk:
    """What came of some inputs of one format."""

    counts: Mapping[Outcome, int]
    failures: tuple[Failure, ...]
    slowest_seconds: float


class TooSlowError(BaseException):
    """Raised by the alarm; no reader catches it by accident."""


Seeds = Mapping[ProfileFormat, Sequence[bytes]]


def main() -> int:
    options = parsed()
    seeds = with_folder(made_seeds(), options.seeds)
    formats = [one for one in options.format or ProfileFormat if seeds.get(one)]
    if options.reproduce is not None:
        return reproduce(formats[0], options.reproduce, options.seed, seeds, options.output)
    share = -(-options.inputs // len(formats))
    began = time.perf_counter()
    chunks_by_format: dict[ProfileFormat, list[Chunk]] = {one: [] for one in formats}
    console = Console()
    with Progress(console=console) as progress:
        for format_ in formats:
            task = progress.add_task(format_, total=share)
            for chunk in chunks(format_, share, options.seed, seeds):
                chunks_by_format[format_].append(chunk)
                progress.update(task, advance=sum(chunk.counts.values()))
            if not console.is_terminal:  # a log tells how far it is
                progress.print(f"{format_}: {share:,}")
    failures = [
        failure for many in chunks_by_format.values() for one in many for failure in one.failures
    ]
    console.print(table(chunks_by_format))
    console.print(f"{share * len(formats):,} inputs in {integer(time.perf_counter() - began)} s")
    for failure in failures[:SHOWN]:
        again = f"--seed {options.seed} --format {failure.format} --reproduce {failure.number}"
        console.print(f"{failure.outcome}: {again}\n{failure.what}", markup=False)
    return 1 if failures else 0


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--inputs", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=20261121)
    parser.add_argument("--format", type=ProfileFormat, action="append")
    parser.add_argument("--seeds", type=Path)
    parser.add_argument("--reproduce", type=int)
    parser.add_argument("--output", type=Path)
    return parser.parse_args()


def with_folder(seeds: Seeds, folder: Path | None) -> Seeds:
    """Return the seeds with the beginnings of the files in a folder."""
    grown = {one: [*many] for one, many in seeds.items()}
    for path in sorted(folder.iterdir()) if folder else ():
        packed = path.read_bytes()
        try:
            format_ = detect_format(packed, path.name)
            data = unpack_gzip(packed, max_bytes=2**30).data
        except ProfileError:
            continue
        if format_ in READERS or len(data) <= 8 * MAX_SEED_BYTES:  # a binary file has no beginning
            grown.setdefault(format_, []).append(
                data[:MAX_SEED_BYTES] if format_ in READERS else data
            )
    return grown


def chunks(format_: ProfileFormat, share: int, seed: int, seeds: Seeds) -> Iterator[Chunk]:
    """Yield what comes of a format's inputs; a crash of the process costs the rest of its chunk."""
    context = get_context("spawn")
    numbers = [range(start, min(start + CHUNK, share)) for start in range(0, share, CHUNK)]
    while numbers:
        with ProcessPoolExecutor(1, mp_context=context, initializer=limit) as pool:
            try:
                while numbers:
                    chunk = pool.submit(tried, format_, numbers[0], seed, seeds).result()
                    numbers.pop(0)
                    yield chunk
            except BrokenProcessPool:
                lost = numbers.pop(0)
                what = f"the process died somewhere in inputs {lost.start} to {lost.stop - 1}"
                failure = Failure(format_, lost.start, Outcome.UNCAUGHT, what)
                yield Chunk({Outcome.UNCAUGHT: len(lost)}, (failure,), 0.0)


def limit() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.environ["JAX_PLATFORMS"] = "cpu"
    # What a library writes about a damaged file is not for this table.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())


def tried(format_: ProfileFormat, numbers: Sequence[int], seed: int, seeds: Seeds) -> Chunk:
    """Return what comes of the inputs with these numbers."""
    counts: Counter[Outcome] = Counter()
    failures: list[Failure] = []
    slowest = 0.0
    signal.signal(signal.SIGPROF, alarm)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "input")
        warm_up(format_, path, seeds)
        for number in numbers:
            data = mutated_file(format_, number, seed, seeds)
            began = time.process_time()
            outcome, what = once(format_, data, path)
            took = time.process_time() - began
            slowest = max(slowest, took)
            if outcome in (Outcome.ANSWER, Outcome.REFUSED) and took > SECONDS:
                outcome, what = Outcome.SLOW, f"{decimals(took, 2)} s"
            counts[outcome] += 1
            if outcome in (Outcome.UNCAUGHT, Outcome.SLOW):
                failures.append(Failure(format_, number, outcome, what))
    return Chunk(counts, tuple(failures), slowest)


def alarm(*_: object) -> None:
    raise TooSlowError


def warm_up(format_: ProfileFormat, path: Path, seeds: Seeds) -> None:
    """Read a sound file first: imports are not part of an input's time."""
    once(format_, seeds[format_][0], path, seconds=60.0)


def mutated_file(format_: ProfileFormat, number: int, seed: int, seeds: Seeds) -> bytes:
    """Return the input with this number."""
    rng = Random(f"{seed} {format_} {number}")
    if format_ in SCRIPTS and rng.random() < 0.7:
        script = replace_numbers(SCRIPTS[format_].encode(), (), rng)
        built = rebuilt(format_, script.decode())
        if built is not None:
            return built
    mine = seeds[format_]
    others = mine if rng.random() < 0.7 else [one for many in seeds.values() for one in many]
    return mutated(rng.choice(mine), others, rng)


def once(
    format_: ProfileFormat, data: bytes, path: Path, *, seconds: float = 2 * SECONDS
) -> tuple[Outcome, str]:
    """Return what a reader makes of the data, with the traceback where it fails."""
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        profile = read(format_, data, path)
        json.dumps(msgspec.to_builtins(profile), allow_nan=False)
    except ProfileError:
        return Outcome.REFUSED, ""
    except TooSlowError:
        return Outcome.SLOW, traceback.format_exc(limit=-3)
    except Exception:
        return Outcome.UNCAUGHT, traceback.format_exc(limit=-4)
    else:
        return Outcome.ANSWER, ""
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def read(format_: ProfileFormat, data: bytes, path: Path) -> Profile:
    """Read the data as what it was made from; what it looks like now must be told or refused."""
    with suppress(ProfileError):
        detect_format(data, "input")
    if format_ in READERS:
        return READERS[format_](data, workload="m:f", side=Side.HEAD)
    path.write_bytes(data)
    return read_profile(path, workload="m:f", side=Side.HEAD, format=format_)


def reproduce(
    format_: ProfileFormat, number: int, seed: int, seeds: Seeds, output: Path | None
) -> int:
    data = mutated_file(format_, number, seed, seeds)
    if output is not None:
        output.write_bytes(data)
    signal.signal(signal.SIGPROF, alarm)
    with tempfile.TemporaryDirectory() as folder:
        outcome, what = once(format_, data, Path(folder, "input"), seconds=60.0)
    Console().print(f"{outcome}: {len(data)} bytes\n{what}", markup=False)
    return 0 if outcome in (Outcome.ANSWER, Outcome.REFUSED) else 1


def table(chunks_by_format: Mapping[ProfileFormat, Sequence[Chunk]]) -> Table:
    result_table = Table("format", *Outcome, "slowest")
    for format_, many in chunks_by_format.items():
        counts = [str(sum(one.counts.get(each, 0) for one in many)) for each in Outcome]
        slowest = max((one.slowest_seconds for one in many), default=0.0)
        result_table.add_row(format_, *counts, f"{integer(1000 * slowest)} ms")
    return result_table


if __name__ == "__main__":
    sys.exit(main())

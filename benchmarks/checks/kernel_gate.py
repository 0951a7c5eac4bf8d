"""How often the gate of kernels errs, what it finds, and what it costs, by resampled real windows.

python benchmarks/checks/kernel_gate.py FOLDER [--record 3] [--loops 0] [--resampled 300]
                                        [--trace FILE]

FOLDER keeps bundles of real checks; --record makes more: `perfledger check` of a training step of
the examples against itself, each with single kernels and without, beside as many busy loops. A
resampled check has twelve of all their pairs, each with its sides exchanged by a coin: without a
change, with 5 % more time of one family on head, or with families renamed, split or fused on head
under names that no diff of profiles matches. Windows are judged where `GroupSequentialStopping`
needs no more. Every figure is what `judgement_of` says, and the time is that of whole checks.
--trace, repeatable, resamples the steps of a recorded trace of a device in place of pairs: its
noise is that of one process.
"""

import argparse
import resource
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from statistics import fmean, median
from typing import Any, TypeVar

from scratch_repository import busy_loops, commit, git
from settled_kernels import settled_bundle, with_interval

from perfledger.bundle import Bundle
from perfledger.kernel_times import KernelTimes, StepSeconds, WorkloadKernels
from perfledger.metrics import KERNELS
from perfledger.profile import Profile
from perfledger.records import Side
from perfledger.rounding import decimals
from perfledger_baselines.judging.judge import judgement_of
from perfledger_baselines.judging.kernel_judgement import KernelJudgement
from perfledger_profiles.diff.kernel_times import kernel_times, kernels_of_side, step_seconds
from perfledger_profiles.formats import read_profile
from perfledger_runners.bundles.files import read_bundle, write_bundle

PAIRS = 12
FACTOR = 1.05
REFACTORINGS = 50
# Of the step: those whose change of 5 % is to be found, and those that are changed at all.
TARGET = (0.02, 0.05)
MIN_SHARE = 0.005
MIN_STEPS = 4  # of a trace: two on each side
EXAMPLE = Path(__file__).parents[2] / "examples" / "repository"
WORKLOAD = "benchmarks.torch_gpt:train_step"
Times = tuple[StepSeconds, ...]
Value = TypeVar("Value")
CONFIGURATION = f"""
paths = ["benchmarks"]
margin = 0.02
max_pairs = {PAIRS}
budget = "20m"
python = "{sys.executable}"
"""


@dataclass(frozen=True, slots=True)
class WindowPool:
    """The windows of all pairs of some checks of unchanged code."""

    bundle: Bundle  # whose runs and plan each resampled check has
    kernels: tuple[KernelTimes, ...]  # those that all checks have
    steps: tuple[Times, Times]

    def resampled(self, draw: Random) -> WorkloadKernels:
        """Return the kernels of a check of unchanged code."""
        places = draw.sample(range(len(self.steps[0])), PAIRS)
        coins = [draw.random() < 1 / 2 for _ in places]

        def sides(base: Sequence[Value], head: Sequence[Value]) -> tuple[tuple[Value, ...], ...]:
            draws = [
                (head[place], base[place]) if coin else (base[place], head[place])
                for place, coin in zip(places, coins, strict=True)
            ]
            return tuple(one for one, _ in draws), tuple(other for _, other in draws)

        base_steps, head_steps = sides(*self.steps)
        kernels = []
        for one in self.kernels:
            base, head = sides(one.base, one.head)
            base_undisturbed, head_undisturbed = sides(one.base_undisturbed, one.head_undisturbed)
            kernels.append(
                replace(
                    one,
                    head_count=one.base_count,
                    base=base,
                    head=head,
                    base_undisturbed=base_undisturbed,
                    head_undisturbed=head_undisturbed,
                )
            )
        return WorkloadKernels(
            workload=self.bundle.workloads[0].id,
            pairs=tuple(range(PAIRS)),
            base_steps=base_steps,
            head_steps=head_steps,
            kernels=tuple(kernels),
        )

    def judge(self, kernels: WorkloadKernels) -> KernelJudgement:
        """Return what a check says of these kernels, in as many of their pairs as it needs."""
        bundle = settled_bundle(replace(self.bundle, kernels=(kernels,)))
        (judgement,) = judgement_of(bundle).kernels
        return judgement

    def shares(self) -> dict[str, float]:
        """Return each family's share of the step, the largest first."""
        step = median(map(min, self.steps[0]))
        seconds: defaultdict[str, float] = defaultdict(float)
        for one in self.kernels:
            seconds[one.family] += median(one.base_undisturbed) / step
        return dict(sorted(seconds.items(), key=lambda pair: -pair[1]))


def record(*, has_kernels: bool) -> Bundle:
    """Check an example's training step against itself, with single kernels or without."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "repository"
        sources = [
            path for path in EXAMPLE.rglob("*.py") if "torch" in path.name or "gpt" in path.name
        ]
        files = {str(path.relative_to(EXAMPLE)): path.read_text() for path in sources}
        metrics = 'metrics = ["kernels"]' if has_kernels else ""
        folder.mkdir()
        git(folder, "init", "--quiet", "--initial-branch", "main")
        commit(folder, files | {"perfledger.toml": CONFIGURATION + metrics}, "base")
        commit(folder, {"README.md": "nothing else"}, "head")
        bundle = Path(scratch) / "bundle.json"
        command = ["-m", "perfledger_service", "check", "--base", "HEAD~1", "--head", "HEAD"]
        options = [
            "--no-skip",
            "--workload",
            WORKLOAD,
            "--save-bundle",
            str(bundle),
            "--device",
            "cpu",
            "--json",
        ]
        before_s = cpu_seconds()
        done = subprocess.run(
            [sys.executable, *command, *options],
            cwd=folder,
            check=False,  # undecided is an exit code as well
            capture_output=True,
            text=True,
        )
        if not bundle.exists():
            sys.exit(done.stderr or done.stdout)
        recorded = read_bundle(bundle.read_bytes())
        pair_s = (cpu_seconds() - before_s) / pairs_in(recorded)
        kind = "with" if has_kernels else "without"
        print(f"{kind} kernels: {decimals(pair_s, 1)} s of CPU time a pair", flush=True)
        return recorded


def cpu_seconds() -> float:
    """Return the CPU time of all processes that this one has waited for, and of theirs."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def print_cost(bundles: Sequence[Bundle]) -> None:
    """Print how long a pair held the machine, with single kernels and without, and the load."""
    for has_kernels in (False, True):
        chosen = [one for one in bundles if any(m == KERNELS for m in one.metrics) == has_kernels]
        seconds = [one.held_s / pairs for one in chosen if one.held_s and (pairs := pairs_in(one))]
        if seconds:
            counts = ", ".join(str(pairs_in(one)) for one in chosen)
            kind = "with" if has_kernels else "without"
            print(
                f"{kind} kernels: {decimals(median(seconds), 1)} s a pair; pairs of each "
                f"check: {counts}"
            )
    for bundle in bundles:
        load = [one for one in bundle.host_findings if one.name.startswith("other programs")]
        print("; ".join(f"{one.name}: {one.detail}" for one in load))


def pairs_in(bundle: Bundle) -> int:
    return len({run.pair for run in bundle.runs if run.side is Side.HEAD})


def pool_of(bundles: Sequence[Bundle]) -> WindowPool:
    parts = [bundle.kernels[0] for bundle in bundles]
    tables = [{(one.family, one.name): one for one in part.kernels} for part in parts]
    names = [name for name in tables[0] if all(name in table for table in tables)]

    def joined(name: tuple[str, str], field: str) -> tuple[Any, ...]:
        return tuple(pair for table in tables for pair in getattr(table[name], field))

    kernels = tuple(
        replace(
            tables[0][name],
            base=joined(name, "base"),
            head=joined(name, "head"),
            base_undisturbed=joined(name, "base_undisturbed"),
            head_undisturbed=joined(name, "head_undisturbed"),
        )
        for name in names
    )
    base, head = (
        tuple(pair for part in parts for pair in getattr(part, field))
        for field in ("base_steps", "head_steps")
    )
    full = max(bundles, key=lambda bundle: len(bundle.kernels[0].pairs))
    if len(full.kernels[0].pairs) < PAIRS:
        sys.exit(f"no bundle has {PAIRS} pairs with windows: record another check")
    return WindowPool(full, kernels, (base, head))


def pool_of_trace(bundle: Bundle, trace: Path, draw: Random) -> WindowPool:
    """Return pairs of which each side has other steps of a recorded trace, drawn at random."""
    profile = read_profile(trace, workload=bundle.workloads[0].id, side=Side.BASE)
    steps = list(profile.call_times)
    if len(steps) < MIN_STEPS:
        sys.exit(f"{trace.name} has {len(steps)} steps: {MIN_STEPS} are needed")
    sides: tuple[list[list[Profile]], list[list[Profile]]] = ([], [])
    for _ in range(4 * PAIRS):
        draw.shuffle(steps)
        for number, side in enumerate(sides):  # equally many steps each
            chosen = steps[number : 2 * (len(steps) // 2) : 2]
            side.append([replace(profile, call_times=tuple(chosen))])
    matched = kernel_times(*([kernels_of_side(one) for one in side] for side in sides))
    base, head = (tuple(step_seconds(one) for one in side) for side in sides)
    return WindowPool(bundle, matched, (base, head))


def scaled(times: Times, factor: float) -> Times:
    return tuple(tuple(factor * one for one in pair) for pair in times)


def with_head(one: KernelTimes, factor: float) -> KernelTimes:
    """Return a kernel whose head takes so many times its seconds."""
    undisturbed = tuple(factor * seconds for seconds in one.head_undisturbed)
    return replace(one, head=scaled(one.head, factor), head_undisturbed=undisturbed)


def only_on_head(name: str, parts: Sequence[KernelTimes], share: float) -> KernelTimes:
    """Return a kernel that does a share of what these do on head."""
    first = parts[0]
    head = tuple(
        tuple(share * sum(step) for step in zip(*pair, strict=True))
        for pair in zip(*(one.head for one in parts), strict=True)
    )
    undisturbed = zip(*(one.head_undisturbed for one in parts), strict=True)
    return KernelTimes(
        family=name,
        name=name,
        base_count=0.0,
        head_count=first.head_count,
        base=scaled(first.base, 0.0),
        head=head,
        base_undisturbed=(0.0,) * len(first.base),
        head_undisturbed=tuple(share * sum(pair) for pair in undisturbed),
    )


def refactored(kernels: WorkloadKernels, kind: str, names: Sequence[str]) -> WorkloadKernels:
    """Return the check with the kernels of these families renamed, split or fused on head."""
    parts = [one for one in kernels.kernels if one.family in names]
    match kind:
        case "rename":
            added = [only_on_head(f"my::{n}", [one], 1.0) for n, one in enumerate(parts)]
        case "split":
            added = [
                only_on_head(f"my::{n}{half}", [one], share)
                for n, one in enumerate(parts)
                for half, share in (("a", 0.3), ("b", 0.7))
            ]
        case _:
            added = [only_on_head("my::fused", parts, 1.0)]
    rest = [one for one in kernels.kernels if one.family not in names]
    gone = [replace(with_head(one, 0.0), head_count=0.0) for one in parts]
    return replace(kernels, kernels=(*rest, *gone, *added))


def print_table(title: str, pool: WindowPool, *, checks: int, draw: Random) -> None:
    """Print false findings, what is found of a planted change, and false alarms of refactorings."""
    unchanged = [pool.judge(pool.resampled(draw)) for _ in range(checks)]
    false = sum(bool(one.findings) for one in unchanged)
    typical = median(one.largest_change or 0.0 for one in unchanged)
    print(f"\n{title}: {len(pool.steps[0])} pairs, {unchanged[0].families} families tested")
    pairs = decimals(fmean(one.pairs for one in unchanged), 1)
    print(f"findings without a change: {with_interval(false, checks)}")
    print(f"pairs of an unchanged check: {pairs}")
    print(f"not ruled out of a typical family: {decimals(100 * typical, 1)} %")
    print("| family | % of the step | 5 % more found |\n|---|---|---|")
    shares = pool.shares()
    rates = {}
    for family in (family for family, share in shares.items() if share >= MIN_SHARE):
        alarm_count = 0
        for _ in range(checks // 10):
            kernels = pool.resampled(draw)
            changed = tuple(
                with_head(one, FACTOR) if one.family == family else one for one in kernels.kernels
            )
            judgement = pool.judge(replace(kernels, kernels=changed))
            alarm_count += any(one.is_alarm and one.family == family for one in judgement.findings)
        rates[family] = alarm_count / (checks // 10)
        print(
            f"| {family} | {decimals(100 * shares[family], 2)} | {decimals(rates[family], 2)} |",
            flush=True,
        )
    aimed_at = [rate for family, rate in rates.items() if TARGET[0] <= shares[family] <= TARGET[1]]
    if aimed_at:
        print(
            f"families of 2 to 5 % of the step: {decimals(sum(aimed_at) / len(aimed_at), 2)} found"
        )
    large = list(rates)
    for kind, families in (("rename", 1), ("split", 1), ("fuse", min(3, len(large)))):
        alarms = 0
        for _ in range(REFACTORINGS):
            kernels = refactored(pool.resampled(draw), kind, draw.sample(large, families))
            alarms += any(one.is_alarm for one in pool.judge(kernels).findings)
        print(f"{kind}: {alarms} alarms in {REFACTORINGS}", flush=True)


def main() -> None:
    """Record checks if asked to, and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--record", type=int, default=0, help="checks to add, of either kind")
    parser.add_argument("--loops", type=int, default=0, help="busy loops beside them")
    parser.add_argument("--resampled", type=int, default=300)
    parser.add_argument("--trace", type=Path, action="append", default=[])
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    if options.resampled < 10:
        parser.error(f"--resampled {options.resampled}: use 10 or more")
    for _ in range(options.record):
        for has_kernels in (True, False):
            with busy_loops(options.loops):
                bundle = record(has_kernels=has_kernels)
            write_bundle(bundle, options.folder / f"{bundle.id}.json")
    bundles = [read_bundle(path.read_bytes()) for path in sorted(options.folder.glob("*.json"))]
    judged = [bundle for bundle in bundles if bundle.kernels]
    if not judged:
        parser.error(f"{options.folder} has no check with single kernels: add one with --record 1")
    print_cost(bundles)
    draw = Random(options.seed)
    print_table("recorded pairs", pool_of(judged), checks=options.resampled, draw=draw)
    for trace in options.trace:
        pool = pool_of_trace(judged[0], trace, draw)
        print_table(trace.name, pool, checks=options.resampled, draw=draw)


if __name__ == "__main__":
    main()

"""Lets perfledger, pytest-benchmark and pyperf gate one change, on a quiet and on a busy machine.

    pip install pytest-benchmark==5.3.1 pyperf==2.10.0
    python benchmarks/checks/gate_peers.py [--checks 3] [--loops 0 2 4] [--case NAME]

Each check has a repository of its own, whose step works for about 6 ms. The head is unchanged, or
works 3 % or 10 % more. Every gate allows 5 % and starts with nothing: perfledger measures both
sides; the others measure base and then head, as a pipeline of theirs does, and fail above 5 % (of
the median; pyperf also asks its t test). A gate is red, green, or says that it cannot tell, which
only perfledger does: of 3 % all of them may say nothing, since it is within the margin.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from statistics import median

from cpu_time_gate import CONFIGURATION, ROUNDS_PER_MS, STEP
from scratch_repository import busy_loops, commit, git

from perfledger.rounding import integer

MARGIN_PERCENT = 5
ROUNDS = 6 * ROUNDS_PER_MS
CASES = {"unchanged": 1.0, "3 % more work": 1.03, "10 % more work": 1.1}
# Runs the same step under the other tools. Outside of `paths`: there it would be measured, too.
PEER = """
import sys
from pathlib import Path
sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))
from work import work

def test_work(benchmark):
    benchmark(work())

if __name__ == "__main__":
    import pyperf
    pyperf.Runner().bench_func("work", work())
"""


class GateColour(StrEnum):
    """What a gate says of a change."""

    RED = "red"
    GREEN = "green"
    OPEN = "open"  # it says that it cannot tell


def make_repository(folder: Path, factor: float) -> None:
    """Commit a base and a head whose step does `factor` times the work."""
    git(folder, "init", "--quiet", "--initial-branch", "main")
    files = {"perfledger.toml": CONFIGURATION, "peers/test_peers.py": PEER}
    for message, rounds in (("base", ROUNDS), ("head", round(factor * ROUNDS))):
        step = STEP.format(rounds=rounds, sleep="pass") + f"# {message}\n"
        commit(folder, {**files, "benchmarks/work.py": step}, message)


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a module of Python in the repository."""
    return subprocess.run(
        [sys.executable, "-m", *arguments], cwd=folder, check=False, capture_output=True, text=True
    )


def by_perfledger(folder: Path) -> GateColour:
    """Check the head; exit code 3 says that it is undecided."""
    command = ("perfledger_service", "check", "--no-skip", "--base", "HEAD~1", "--head", "HEAD")
    done = run(folder, *command, "--budget", "20s", "--device", "cpu", "--json")
    if done.returncode not in {0, 1, 3}:
        raise SystemExit(done.stderr)
    return {0: GateColour.GREEN, 1: GateColour.RED, 3: GateColour.OPEN}[done.returncode]


def by_pytest_benchmark(folder: Path) -> GateColour:
    """Save the base's run and compare the head's with it."""
    test = ("pytest", "-q", "-p", "no:cacheprovider", "peers/test_peers.py")
    git(folder, "checkout", "--quiet", "HEAD~1")
    base = run(folder, *test, "--benchmark-autosave")
    git(folder, "checkout", "--quiet", "main")
    gate = f"--benchmark-compare-fail=median:{MARGIN_PERCENT}%"
    head = run(folder, *test, "--benchmark-compare", gate)
    if base.returncode or "test_work" not in head.stdout:
        raise SystemExit(base.stdout + head.stdout + head.stderr)
    return GateColour.RED if head.returncode else GateColour.GREEN


def by_pyperf(folder: Path) -> GateColour:
    """Measure both with pyperf's usual 20 processes, and ask its comparison."""
    for revision, name in (("HEAD~1", "base"), ("main", "head")):
        git(folder, "checkout", "--quiet", revision)
        script = [sys.executable, "peers/test_peers.py", "--quiet", "-o", f"{name}.json"]
        script += ["--inherit-environ", "PYTHONPATH"]
        subprocess.run(script, cwd=folder, check=True, capture_output=True)
    comparison = run(
        folder,
        *("pyperf", "compare_to", "base.json", "head.json", "--min-speed", str(MARGIN_PERCENT)),
    )
    return GateColour.RED if "slower" in comparison.stdout else GateColour.GREEN


GATES: Mapping[str, Callable[[Path], GateColour]] = {
    "perfledger": by_perfledger,
    "pytest-benchmark": by_pytest_benchmark,
    "pyperf": by_pyperf,
}


def main() -> None:
    """Print a row for each case, load and gate."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--checks", type=int, default=3)
    parser.add_argument("--loops", type=int, nargs="+", default=[0, 2, 4])
    parser.add_argument("--case", choices=CASES, action="append")
    parser.add_argument("--gate", choices=GATES, action="append")
    options = parser.parse_args()
    print("| head | busy loops | gate | red | green | cannot tell | s a check |")
    print("|---|---|---|---|---|---|---|")
    for case in options.case or CASES:
        for loops in options.loops:
            colours, seconds = gate_all(case, loops, options.checks, options.gate or list(GATES))
            for gate, counts in colours.items():
                cells = " | ".join(str(counts[colour]) for colour in GateColour)
                gate_seconds = median(seconds[gate])
                print(
                    f"| {case} | {loops} | {gate} | {cells} | {integer(gate_seconds)} |", flush=True
                )
    print(json.dumps({"cores": os.cpu_count(), "load average": os.getloadavg()[0]}))


def gate_all(
    case: str, loops: int, checks: int, gates: Sequence[str]
) -> tuple[Mapping[str, Counter[GateColour]], Mapping[str, list[float]]]:
    """Return how often each gate said what, and the seconds that each check took."""
    colours: defaultdict[str, Counter[GateColour]] = defaultdict(Counter)
    seconds: defaultdict[str, list[float]] = defaultdict(list)
    for _ in range(checks):
        for gate in gates:
            with tempfile.TemporaryDirectory() as name, busy_loops(loops):
                folder = Path(name) / "repository"
                folder.mkdir()
                make_repository(folder, CASES[case])
                began = time.monotonic()
                colours[gate][GATES[gate](folder)] += 1
                seconds[gate].append(time.monotonic() - began)
    return colours, seconds


if __name__ == "__main__":
    main()

"""Kills checks at random moments, resumes them, and counts what was lost.

    python benchmarks/checks/killed_checks.py [--kills 50] [--seed N] [--pairs 6]

A check of a short workload is killed with SIGKILL after a random share of the time that a whole one
took, resumed with `--resume`, killed again, and so on until it ends; then the next one begins. The
workload itself writes down each process that measures it, so that what began does not depend on
what the check saved. Printed is, for each kill, the stage that it hit, how many pairs had begun
since the last one, and how many of them were saved. All but the last must be; all that was saved
must be in the bundle in the end, which must have every run of its plan and verdicts. The exit code
is the number of kills and bundles of which that is not true.
"""

import argparse
import contextlib
import math
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from scratch_repository import commit, git

from perfledger.bundle import Bundle
from perfledger.metrics import STEP_TIME
from perfledger.protocol import Command
from perfledger.records import Run, Side
from perfledger.rounding import decimals, typed
from perfledger_baselines.judging.judge import judge_bundle
from perfledger_baselines.judging.verdict import Outcome
from perfledger_runners.bundles.files import read_bundle
from perfledger_runners.measuring.interrupted_checks import interrupted_folder
from perfledger_runners.measuring.pair_journal import SUFFIX, reopen_journal
from perfledger_runners.measuring.rounds.pair_order import pair_order

# Wide, so that a busy machine settles the short workload by its last pair.
CONFIGURATION = """
paths = ["bench"]
python = "{python}"
margin = 0.5
floor = 0.2
max_pairs = {pairs}
budget = "10m"
"""
WORKLOAD = """
import json
import subprocess
from pathlib import Path

import perfledger

@perfledger.workload(device="cpu")
def add():
    request = Path("/proc/self/cmdline").read_text().split("\\0")[-2]
    with open({begun!r}, "a") as begun:
        begun.write(json.loads(Path(request).read_text())["command"] + "\\n")
    # They would stay for ever: a daemon, and a program without the environment of the check.
    subprocess.Popen(["sleep", "infinity"], start_new_session=True)
    subprocess.Popen(["sleep", "infinity"], env={{"TMPDIR": {temporary!r}}})
    numbers = list(range(20_000))
    return lambda: sum(numbers)
"""
ENDED = (0, 3)  # the exit codes of a check that ends by itself: on a busy machine it is undecided
SURVIVAL_S = 3.0


@dataclass(frozen=True)
class Checks:
    """The repository that is checked, and what its checks leave."""

    folder: Path
    pairs: int

    @property
    def bundle(self) -> Path:
        """Return the file with the bundle of the last check."""
        return self.folder / "bundle.json"

    @property
    def variables(self) -> dict[str, str]:
        """Return the variables of the checks, whose state is in the folder."""
        inherited_variables = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("PERFLEDGER_", "GITHUB_"))
        }
        return inherited_variables | {
            "XDG_STATE_HOME": str(self.folder / "state"),
            "TMPDIR": str(self.folder / "temporary"),
            "PERFLEDGER_LOCK_FOLDER": str(self.folder / "locks"),
        }

    def prepare(self) -> None:
        """Make the repository, with a change that is not committed."""
        root = self.folder / "repository"
        for each in (root, self.folder / "temporary"):
            each.mkdir()
        (self.folder / "begun").touch()
        git(root, "init", "--quiet", "--initial-branch", "main")
        workload = WORKLOAD.format(
            begun=str(self.folder / "begun"), temporary=str(self.folder / "temporary")
        )
        configuration = CONFIGURATION.format(python=sys.executable, pairs=self.pairs)
        commit(root, {"perfledger.toml": configuration, "bench/sums.py": workload}, "base")
        (root / "bench" / "sums.py").write_text(f"{workload}CHANGED = True\n", encoding="utf-8")

    def run(self, *, is_resumed: bool, kill_after_s: float) -> int:
        """Run a check, or go on with the killed one, and kill it in time; return its status."""
        self.bundle.unlink(missing_ok=True)
        words = ["check", "--save-bundle", str(self.bundle)]
        with (self.folder / "errors").open("wb") as errors:
            process = subprocess.Popen(
                [sys.executable, "-m", "perfledger_service", *words, *["--resume"] * is_resumed],
                cwd=self.folder / "repository",
                env=self.variables,
                stdout=subprocess.DEVNULL,
                stderr=errors,
            )
        try:
            return process.wait(timeout=kill_after_s)
        except subprocess.TimeoutExpired:
            process.kill()
            return process.wait()

    @property
    def errors(self) -> str:
        """Return what the last check printed on standard error."""
        return (self.folder / "errors").read_text(encoding="utf-8", errors="replace")

    @property
    def stage(self) -> str:
        """Return what the last check was doing."""
        stages = [line[:-4] for line in self.errors.splitlines() if line.endswith(" ...")]
        return stages[-1] if stages else "starting"

    @property
    def begun_pairs(self) -> int:
        """Return how many pairs began to be measured: each has a process a side."""
        return math.ceil((self.folder / "begun").read_text().split().count(Command.MEASURE) / 2)

    def saved_runs(self) -> tuple[tuple[Run, ...], int] | None:
        """Return the runs that are saved, and of how many pairs; None without a journal."""
        for path in interrupted_folder(self.variables).glob(f"*{SUFFIX}"):
            journal = reopen_journal(path)
            journal.close()
            return tuple(run for pair in journal.saved for run in pair.measured.runs), journal.count
        return None

    def survivors(self) -> tuple[int, ...]:
        """Return the processes of a killed check that do not end by themselves within a moment."""
        mark = f"TMPDIR={self.folder / 'temporary'}".encode()
        deadline = time.monotonic() + SURVIVAL_S
        while (left := tuple(processes_with(mark))) and time.monotonic() < deadline:
            time.sleep(0.05)
        return left


def processes_with(variable: bytes) -> Iterator[int]:
    """Yield the processes that have the variable in their environment."""
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if variable in (folder / "environ").read_bytes().split(b"\0"):
                yield int(folder.name)


def faults_of(bundle: Bundle, saved: Sequence[Run]) -> tuple[str, ...]:
    """Return what a bundle lacks of its plan, and of what was saved at kills."""
    pairs = len(bundle.plan.order)
    expected = {(pair, side): 1 for pair in range(pairs) for side in Side}
    outcomes = {each.metric.name: each.outcome for each in judge_bundle(bundle)}
    runs = {run.process: run for run in bundle.runs}
    faults = {
        "another order than its plan's": bundle.plan.order != pair_order(bundle.plan.seed, pairs),
        "no look of its plan": pairs not in bundle.plan.looks,
        "runs that are missing": Counter((each.pair, each.side) for each in bundle.runs)
        != expected,
        "saved runs that are missing": any(runs.get(run.process) != run for run in saved),
        "step times not measured": outcomes[STEP_TIME.name] is Outcome.NOT_MEASURED,
    }
    return tuple(name for name, is_so in faults.items() if is_so)


@dataclass
class Tally:
    """What the kills cost so far."""

    kills: int = 0
    pairs_in_flight: int = 0
    losses: int = 0
    bundles: int = 0
    torn: int = 0
    survivors: int = 0


def kill_once(checks: Checks, tally: Tally, *, is_resumed: bool, kill_after_s: float) -> bool:
    """Run a check until it is killed; return whether it ended before that."""
    begun_before, saved_before = checks.begun_pairs, checks.saved_runs()
    status = checks.run(is_resumed=is_resumed, kill_after_s=kill_after_s)
    if status != -signal.SIGKILL:
        if status not in ENDED:
            raise SystemExit(checks.errors)
        return True
    left = checks.survivors()
    for process in left:
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)
    saved = checks.saved_runs()
    is_over = saved is None and checks.bundle.exists()
    begun = checks.begun_pairs - begun_before
    new = (saved[1] if saved else 0) - (saved_before[1] if saved_before else 0)
    lost = 0 if is_over else begun - new
    tally.kills += 1
    tally.survivors += bool(left)
    tally.pairs_in_flight += lost == 1
    tally.losses += lost not in {0, 1}
    remarks = [
        *(["LOST"] if lost not in {0, 1} else []),
        *(["its bundle was written"] if is_over else []),
        *([f"{len(left)} processes left"] if left else []),
    ]
    print(
        f"| {tally.kills} | {decimals(kill_after_s, 1)} s | {checks.stage} | {begun} | "
        f"{begun - lost} | "
        f"{', '.join(remarks)} |",
        flush=True,
    )
    return is_over


def resume_until_whole(checks: Checks, tally: Tally, draw: Callable[[], float]) -> None:
    """Kill a check and its resumptions until one ends, and look at its bundle."""
    saved: tuple[Run, ...] = ()
    is_over = False
    while not is_over:
        journal = checks.saved_runs()
        saved = journal[0] if journal else ()
        is_over = kill_once(checks, tally, is_resumed=journal is not None, kill_after_s=draw())
    bundle = read_bundle(checks.bundle.read_bytes())
    faults = faults_of(bundle, saved)
    tally.bundles += 1
    tally.torn += bool(faults)
    pairs = f"{len(bundle.plan.order)} pairs, {len(saved) // 2} of them saved before"
    print(f"| | | bundle {', '.join(faults) or 'whole'}: {pairs} | | | |", flush=True)


def main() -> int:
    """Kill checks until there were enough kills, and print what was lost."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seed", type=int, default=20261123)
    parser.add_argument("--pairs", type=int, default=6)
    options = parser.parse_args()
    draw = random.Random(options.seed)
    tally = Tally()
    with tempfile.TemporaryDirectory() as folder:
        checks = Checks(folder=Path(folder), pairs=options.pairs)
        checks.prepare()
        began = time.monotonic()
        if checks.run(is_resumed=False, kill_after_s=math.inf) not in ENDED:
            raise SystemExit(checks.errors)
        whole_s = time.monotonic() - began
        print(f"a whole check took {decimals(whole_s, 1)} s\n")
        print("| kill | after | it was | pairs begun | saved | |\n|---|---|---|---|---|---|")
        while tally.kills < options.kills:
            resume_until_whole(
                checks,
                tally,
                lambda: draw.uniform(0, whole_s) if tally.kills < options.kills else math.inf,
            )
    print(
        f"\n{tally.kills} kills, {tally.pairs_in_flight} of them during a pair, which alone was "
        f"lost; {tally.losses} lost more. {tally.bundles} bundles in the end, {tally.torn} not "
        f"whole. After {tally.survivors} kills a process of the check outlived it by "
        f"{typed(SURVIVAL_S)} s"
    )
    return tally.losses + tally.torn


if __name__ == "__main__":
    sys.exit(main())

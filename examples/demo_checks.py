"""A branch of the example repository becomes a result bundle and the outcome of its check."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from demo_repository import REPOSITORY, Branch, DemoError

PERFLEDGER = (sys.executable, "-m", "perfledger_service")
# No regression, a regression, undecided or not measured; the other exit codes are not answers.
ANSWERS = (0, 1, 3)
# How long an interrupted child may take to clear its checkouts away.
FAREWELL_S = 20.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """One verdict; the change and its interval are head / base - 1, None where nothing is known."""

    workload: str
    metric: str
    outcome: str
    change: float | None
    low: float | None
    high: float | None
    pairs: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What `perfledger check` found on a branch, and how long it took."""

    branch: str
    slower: str  # what was planted: the workload that got slower, or ""
    exit_code: int
    conclusion: str
    headline: str
    verdicts: tuple[Judged, ...]
    seconds: float
    bundle: str  # where it is

    def speed(self) -> tuple[Judged, ...]:
        """Return the verdicts on step times."""
        return tuple(verdict for verdict in self.verdicts if verdict.metric == "step_time_p50")

    def regressed(self) -> tuple[str, ...]:
        """Return the workloads whose step time regressed."""
        return tuple(each.workload for each in self.speed() if each.outcome == "regressed")


def check_branch(
    repository: Path, branch: Branch, folder: Path, *, log: IO[str] | None = None
) -> Outcome:
    """Run `perfledger check` on a branch of `repository`; files go into `folder`.

    What the command says goes to the terminal, or to `log`. Raises DemoError when it fails.
    """
    bundle, report = folder / f"{branch.name}.bundle.json", folder / f"{branch.name}.report.json"
    arguments = (
        *("check", "--base", "main", "--head", branch.name),
        *("--repository", REPOSITORY, "--pull-request", str(branch.pull_request)),
        *("--format", "json", "--output", str(report), "--save-bundle", str(bundle)),
    )
    began = time.monotonic()
    code = _run((*PERFLEDGER, *arguments), repository, folder, log)
    seconds = time.monotonic() - began
    if code not in ANSWERS:
        msg = f"perfledger check ended with exit code {code} on {branch.name}: see what it said"
        raise DemoError(msg)
    document = json.loads(report.read_text(encoding="utf-8"))
    return outcome_of(document, branch, exit_code=code, seconds=seconds, bundle=str(bundle))


def outcome_of(
    document: Mapping[str, Any], branch: Branch, *, exit_code: int, seconds: float, bundle: str
) -> Outcome:
    """Return the outcome that a report in JSON tells of."""
    return Outcome(
        branch=branch.name,
        slower=branch.slower,
        exit_code=exit_code,
        conclusion=document["conclusion"],
        headline=document["headline"],
        verdicts=tuple(_judged(verdict) for verdict in document["verdicts"]),
        seconds=seconds,
        bundle=bundle,
    )


def environment(folder: Path, **more: str) -> dict[str, str]:
    """Return the environment of a child: nothing of the user's own perfledger or CI job in it."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PERFLEDGER_", "GITHUB_", "GIT_"))
    }
    return {**kept, "XDG_STATE_HOME": str(folder / "state"), **more}


def _judged(verdict: Mapping[str, Any]) -> Judged:
    estimate = verdict["estimate"] or {"change": None, "low": None, "high": None, "pairs": 0}
    return Judged(
        workload=verdict["workload"],
        metric=verdict["metric"]["name"],
        outcome=verdict["outcome"],
        **{name: estimate[name] for name in ("change", "low", "high", "pairs")},
    )


def _run(command: Sequence[str], where: Path, folder: Path, log: IO[str] | None) -> int:
    """Run a command to its end; when interrupted, let it clear its checkouts away first."""
    process = subprocess.Popen(
        command,
        cwd=where,
        env=environment(folder),
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=log,
    )
    try:
        return process.wait()
    except KeyboardInterrupt:
        with suppress(subprocess.TimeoutExpired):
            process.wait(timeout=FAREWELL_S)
        raise
    finally:
        process.kill()  # does nothing to one that has ended
        process.wait()

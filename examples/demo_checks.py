"""Checks branches of the example repository."""

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
# No regression, a regression, undecided or not measured; other exit codes are failures.
RESULT_CODES = (0, 1, 3)
# Time for an interrupted child to remove its checkouts.
CLEANUP_S = 20.0


@dataclass(frozen=True, slots=True, kw_only=True)
class VerdictSummary:
    """One verdict; the change and its interval are head / base - 1, None if unknown."""

    workload: str
    metric: str
    outcome: str
    change: float | None
    low: float | None
    high: float | None
    pairs: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The result of `perfledger check` on a branch, and its duration."""

    branch: str
    slower: str  # the workload that the branch slows down, or ""
    exit_code: int
    conclusion: str
    headline: str
    verdicts: tuple[VerdictSummary, ...]
    seconds: float
    bundle: str  # its path

    def speed(self) -> tuple[VerdictSummary, ...]:
        """Return the verdicts on step times."""
        return tuple(verdict for verdict in self.verdicts if verdict.metric == "step_time_p50")

    def regressed(self) -> tuple[str, ...]:
        """Return the workloads whose step time regressed."""
        return tuple(each.workload for each in self.speed() if each.outcome == "regressed")


def check_branch(
    repository: Path,
    branch: Branch,
    folder: Path,
    *,
    spreads: Path | None = None,
    log: IO[str] | None = None,
) -> Outcome:
    """Run `perfledger check` on a branch of `repository`; files go into `folder`.

    `spreads` is the file of what the service learnt from earlier checks. Output goes to the
    terminal, or to `log`. Raises DemoError if the check fails.
    """
    bundle, report = folder / f"{branch.name}.bundle.json", folder / f"{branch.name}.report.json"
    arguments = (
        *("check", "--base", "main", "--head", branch.name),
        *("--repository", REPOSITORY, "--pull-request", str(branch.pull_request)),
        *("--format", "json", "--output", str(report), "--save-bundle", str(bundle)),
        *(("--spreads", str(spreads)) if spreads else ()),
    )
    began = time.monotonic()
    code = _run((*PERFLEDGER, *arguments), repository, folder, log)
    seconds = time.monotonic() - began
    if code not in RESULT_CODES:
        msg = f"perfledger check ended with exit code {code} on {branch.name}: see its output"
        raise DemoError(msg)
    document = json.loads(report.read_text(encoding="utf-8"))
    return outcome_of(document, branch, exit_code=code, seconds=seconds, bundle=str(bundle))


def outcome_of(
    document: Mapping[str, Any], branch: Branch, *, exit_code: int, seconds: float, bundle: str
) -> Outcome:
    """Return the outcome of a JSON report."""
    return Outcome(
        branch=branch.name,
        slower=branch.slower,
        exit_code=exit_code,
        conclusion=document["conclusion"],
        headline=document["headline"],
        verdicts=tuple(_verdict_summary(verdict) for verdict in document["verdicts"]),
        seconds=seconds,
        bundle=bundle,
    )


def environment(folder: Path, **more: str) -> dict[str, str]:
    """Return the environment of a child, without the user's perfledger and CI variables."""
    inherited = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PERFLEDGER_", "GITHUB_", "GIT_"))
    }
    return {**inherited, "XDG_STATE_HOME": str(folder / "state"), **more}


def _verdict_summary(verdict: Mapping[str, Any]) -> VerdictSummary:
    estimate = verdict["estimate"] or {"change": None, "low": None, "high": None, "pairs": 0}
    return VerdictSummary(
        workload=verdict["workload"],
        metric=verdict["metric"]["name"],
        outcome=verdict["outcome"],
        **{name: estimate[name] for name in ("change", "low", "high", "pairs")},
    )


def _run(command: Sequence[str], where: Path, folder: Path, log: IO[str] | None) -> int:
    """Run a command to its end; if interrupted, let it remove its checkouts first."""
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
            process.wait(timeout=CLEANUP_S)
        raise
    finally:
        process.kill()  # no effect if it has ended
        process.wait()

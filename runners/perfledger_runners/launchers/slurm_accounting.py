"""Says what a batch job used, by Slurm's accounting."""

import re
import time
from collections.abc import Callable, Iterator, Set as AbstractSet
from dataclasses import dataclass

from perfledger import rounding
from perfledger.time_units import SECONDS_PER_HOUR
from perfledger_runners.launchers.engine_tool import ToolAnswer, ask_tool
from perfledger_runners.launchers.launcher import LauncherError

# The controller passes the end of a job on to its accounting within seconds.
ACCOUNTING_WAIT_S = 15.0
_POLL_S = 0.5
_FORMAT = "State,ElapsedRaw,AllocTRES"
_GPUS = "gres/gpu"
_DIGITS = 3
# An amount of a list such as "billing=2,cpu=2,gres/gpu=1,gres/gpu:h100=1,node=1".
_AMOUNT = re.compile(r"(?P<name>[^=,]+)=(?P<count>[0-9]+)(?![^,])")


@dataclass(frozen=True, slots=True)
class AccountedRun:
    """One run of a job: how it ended, its time on the nodes, and what it held of each resource.

    A job that was cancelled before it began held nothing.
    """

    state: str
    seconds: int
    counts: dict[str, int]

    @property
    def gpus(self) -> int | None:
        """Return how many GPUs the run held; None where Slurm does not account for GPUs."""
        by_type = [count for name, count in self.counts.items() if name.startswith(f"{_GPUS}:")]
        return self.counts.get(_GPUS, sum(by_type) if by_type else None)


def ask_sacct(name: str, columns: str, *options: str) -> ToolAnswer:
    """Ask for these columns of a job's allocations; raises LauncherError without sacct."""
    words = ["sacct", "--noheader", "--parsable2", "--allocations", "--starttime=now-30days"]
    return ask_tool([*words, *options, f"--name={name}", f"--format={columns}"])


def accounted_usage(
    name: str,
    last_states: AbstractSet[str],
    *,
    clock: Callable[[], float] = time.monotonic,
    wait: Callable[[float], None] = time.sleep,
) -> str:
    """Return a sentence on what all runs of a job used; "" without accounting or a run.

    `last_states` are the states in which its last run may have ended. Accounting learns of an end
    later than the controller and has the runs in their order, so until the last run is in one of
    these, some are missing; after 15 s the sentence says so instead.
    """
    last = clock() + ACCOUNTING_WAIT_S
    while True:
        try:
            answer = ask_sacct(name, _FORMAT, "--duplicates")
            runs = [*_runs(answer.text)]
        except (LauncherError, ValueError):
            return ""
        if answer.status != 0:
            return ""
        if runs and runs[-1].state in last_states:
            return usage_text(runs)
        if clock() >= last:
            return f"Slurm's accounting has not its end yet: sacct --duplicates --name={name}"
        wait(_POLL_S)


def usage_text(runs: list[AccountedRun]) -> str:
    """Return a sentence on the runs, in hours: a resource allocated for an hour is one.

    It is "" if none began. A resource that Slurm does not account for in every run is left out.
    """
    runs = [run for run in runs if run.counts]
    seconds = [run.seconds for run in runs]
    by_kind = {"GPU": [run.gpus for run in runs], "CPU": [run.counts.get("cpu") for run in runs]}
    amounts = [
        f"{_hours(seconds, counts)} {kind} hours"
        for kind, run_counts in by_kind.items()
        if len(counts := [count for count in run_counts if count is not None]) == len(runs) > 0
    ]
    if not amounts:
        return ""
    times = "1 run" if len(runs) == 1 else f"{len(runs)} runs"
    return f"Slurm's accounting: {' and '.join(amounts)} in {times}"


def _runs(lines: str) -> Iterator[AccountedRun]:
    """Yield the runs, oldest first; raise ValueError for a line that is not sacct's."""
    for line in lines.strip().splitlines():
        state, seconds, amounts = line.split("|")
        counts = {one["name"]: int(one["count"]) for one in _AMOUNT.finditer(amounts)}
        yield AccountedRun(state.split(" ")[0], int(seconds), counts)


def _hours(seconds: list[int], counts: list[int]) -> str:
    total_s = sum(each * count for each, count in zip(seconds, counts, strict=True))
    return rounding.digits(total_s / SECONDS_PER_HOUR, _DIGITS)

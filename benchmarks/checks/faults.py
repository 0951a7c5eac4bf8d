"""Plants faults in small repositories, and compares what a check says with what it must say.

python benchmarks/checks/faults.py [--only WORDS] [--group NAME]

Each row is `perfledger check` on a repository made for it. A fault must not be green: its exit
status says that something regressed or was not measured, and the report names it. A control must
be silent: nothing regressed, nothing was left unmeasured. A row that other load on the machine
leaves undecided is checked once more, and is then "unsure": neither green nor an accusation. The
last line counts; the exit status is 1 if a row is wrong.

Not here, because no check can tell: code that is written to deceive the harness in its own process
(it forges messages, or answers its own check= and skips the work afterwards), libraries that a
workload loads with ctypes from a folder that is neither a checkout's nor a cache, data that both
sides find in the user's own checkout by its path. What a set-up or a first step does ahead for all
steps may be a cache, which is a gain: a note says so where the start costs more than the steps
save, or the first step alone gains nothing; the remedy is a check= and inputs that differ.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from fault_cases.carry_over import CARRY_OVER
from fault_cases.case import NOT_GREEN, NOT_MEASURED, REGRESSED, SILENT, FaultCase
from fault_cases.checkouts import CHECKOUTS
from fault_cases.code import DISTURBANCE, ENVIRONMENT, INSTALLED
from fault_cases.copies import COPIES
from fault_cases.dependencies import DEPENDENCIES
from fault_cases.evasions import EVASIONS
from fault_cases.exclusive import EXCLUSIVE
from fault_cases.habits import HABITS
from fault_cases.leftover import LEFTOVER
from fault_cases.mistakes import MISTAKES
from fault_cases.process import CONTROLS, DYING, HANGING, MISSING
from fault_cases.pull_requests import PULL_REQUESTS
from fault_cases.results import RESULTS
from fault_cases.selection import SELECTION
from fault_cases.steps.frameworks import FRAMEWORKS
from fault_cases.steps.later_steps import LATER_STEPS
from fault_cases.steps.native_code import NATIVE_CODE
from fault_cases.steps.own_process import OWN_PROCESS
from fault_cases.steps.process_end import PROCESS_END
from fault_cases.suites import SUITES
from fault_cases.surroundings.configuration import CONFIGURATION_FILES
from fault_cases.surroundings.deferred import DEFERRED
from fault_cases.surroundings.shared_state import SHARED_STATE
from fault_cases.unseen_code import UNSEEN_CODE
from fault_cases.work import NO_WORK, SLOW, WRONG_WORK
from scratch_repository import busy_loops, commit, git

CASES = (
    *(*INSTALLED, *NO_WORK, *WRONG_WORK, *RESULTS, *ENVIRONMENT, *DISTURBANCE),
    *(*HANGING, *DYING, *MISSING, *SLOW, *CARRY_OVER, *CONTROLS),
    *(*COPIES, *DEPENDENCIES, *SUITES, *EXCLUSIVE, *UNSEEN_CODE, *EVASIONS, *LEFTOVER),
    *(*CHECKOUTS, *NATIVE_CODE, *LATER_STEPS, *OWN_PROCESS, *SELECTION, *FRAMEWORKS, *HABITS),
    *(*MISTAKES, *SHARED_STATE, *CONFIGURATION_FILES, *DEFERRED, *PROCESS_END),
    *PULL_REQUESTS,
)
LIMIT_S = 600.0
EXIT_STATUS = {REGRESSED: {1}, NOT_MEASURED: {3}, NOT_GREEN: {1, 3}, SILENT: {0}}
UNDECIDED = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultOutcome:
    """What a check said of a case."""

    case: FaultCase
    exit_status: int
    outcomes: str  # of the metrics that are not unchanged, and failures
    report: str
    seconds: float

    @property
    def is_named(self) -> bool:
        """Return whether the report has the words that name the fault."""
        return re.search(self.case.words, self.report, re.DOTALL) is not None

    @property
    def is_unsure(self) -> bool:
        """Return whether other load left the check undecided, or without time to measure."""
        is_late = self.case.expected in {REGRESSED, SILENT} and "budget:" in self.outcomes
        return self.exit_status == UNDECIDED and (is_late or "undecided" in self.outcomes)

    @property
    def mark(self) -> str:
        """Return whether the check said what it must."""
        if self.exit_status in EXIT_STATUS[self.case.expected] and self.is_named:
            return "right"
        return "unsure" if self.is_unsure else "WRONG"


def run_case(case: FaultCase, folder: Path) -> FaultOutcome:
    """Make the case's repository below the folder, and check its head against its base."""
    root, beside = folder / "repository", folder / "beside"
    root.mkdir(parents=True)
    beside.mkdir()
    git(root, "init", "--quiet", "--initial-branch", "main")
    commit(root, case.files, "base")
    variables: Mapping[str, str] = case.prepare(root, beside) if case.prepare else {}
    git(root, "checkout", "--quiet", "-b", "change")
    commit(root, case.head, "head")
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("PERFLEDGER_")},
        "XDG_STATE_HOME": str(beside),
        "XDG_CACHE_HOME": str(beside),
        "PERFLEDGER_LOCK_FOLDER": str(beside),
        "PERFLEDGER_PYTHON": sys.executable,
        **variables,
    }
    if "python =" in case.settings:
        del environment["PERFLEDGER_PYTHON"]
    report = beside / "report.json"
    command = (
        *(sys.executable, "-P", "-m", "perfledger_service", "check", "--base", "main"),
        *("--json", "--output", str(report), *case.options),
    )
    began = time.monotonic()
    with busy_loops(case.loops):
        done = subprocess.run(
            command,
            cwd=root,
            env=environment,
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
            check=False,
        )
    text = report.read_text(encoding="utf-8") if report.exists() else done.stderr
    return FaultOutcome(
        case=case,
        exit_status=done.returncode,
        outcomes=outcomes_of(text) if report.exists() else done.stderr.strip().splitlines()[-1],
        report=text,
        seconds=time.monotonic() - began,
    )


def outcomes_of(text: str) -> str:
    """Return what a report says, in a line: its outcomes, and the reason of its first failure."""
    report = json.loads(text)
    parts = [
        f"{verdict['metric']['name']} {verdict['outcome']}"
        for verdict in report["verdicts"]
        if verdict["outcome"] not in {"unchanged", "not measured"}
    ]
    reasons = [f"{each['why']}: {each['detail']}" for each in report["failures"]]
    reasons += [each["reason"] for each in report["verdicts"] if each["outcome"] == "not measured"]
    return "; ".join([*parts, *reasons[:1]]) or "unchanged"


def selected(only: str, group: str) -> Iterable[FaultCase]:
    """Return the cases whose name has these words, and whose group is this one."""
    return [each for each in CASES if only in each.name and group in each.group]


def main() -> None:
    """Run the cases and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="cases whose name has these words")
    parser.add_argument("--group", default="", help="cases of this group")
    arguments = parser.parse_args()
    outcomes: list[FaultOutcome] = []
    for case in selected(arguments.only, arguments.group):
        with tempfile.TemporaryDirectory(prefix="faults-") as folder:
            outcome = run_case(case, Path(folder) / "first")
            if outcome.mark == "unsure":
                outcome = run_case(case, Path(folder) / "second")
        outcomes.append(outcome)
        print(
            f"{outcome.mark:6} {case.group:21} {case.name:50} {case.expected:13} "
            f"exit {outcome.exit_status}{'' if outcome.is_named else ', NOT NAMED'}, "
            f"{outcome.seconds:3.0f} s: {outcome.outcomes[:160]}",
            flush=True,
        )
    sys.exit(summary(outcomes))


def summary(outcomes: Iterable[FaultOutcome]) -> int:
    """Print the counts; return 1 if a row is wrong."""
    faults = [each for each in outcomes if each.case.expected != SILENT]
    controls = [each for each in outcomes if each.case.expected == SILENT]
    green = [each for each in faults if each.exit_status == 0]
    named = [each for each in faults if each.is_named]
    accused = [each for each in controls if each.mark == "WRONG"]
    unsure = [each for each in outcomes if each.mark == "unsure"]
    wrong = [each for each in outcomes if each.mark == "WRONG"]
    print(
        f"{len(faults)} faults: {len(green)} green, {len(named)} named; {len(controls)} controls: "
        f"{len(accused)} accused; {len(unsure)} rows unsure, {len(wrong)} wrong"
    )
    return 1 if wrong else 0


if __name__ == "__main__":
    main()

"""What is saved of a check survives every end of it, and nothing else is taken for it."""

import fcntl
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from perfledger.metrics import STEP_TIME
from perfledger.records import Failure, FailureReason, Run, Side
from perfledger_runners.measuring.measured_pair import MeasuredPair
from perfledger_runners.measuring.pair_journal import (
    MAX_JOURNAL_BYTES,
    JournalError,
    SavedPair,
    remove_old_journals,
    reopen_journal,
    start_journal,
)
from perfledger_runners.measuring.rounds.pair_order import pair_order
from tests.runners.agent.measuring.example_journal import HEADER
from tests.suite.tries import IS_CI


def run(workload, side, pair, process):
    return Run(
        workload=workload,
        side=side,
        pair=pair,
        position=0,
        process=process,
        started_at="2026-11-20T00:00:00Z",
        samples={STEP_TIME.name: (1.0, 1.5)},
        turns=(1, 1),
    )


def saved_pair(pair, *, remaining=(), **changes):
    measured = MeasuredPair(
        pair=pair,
        workloads=("m:f",),
        runs=tuple(run("m:f", side, pair, 2 * pair + place) for place, side in enumerate(Side)),
        logs={str(2 * pair): "a warning"},
        seconds={"m:f": 1.5},
        processes=2,
    )
    return SavedPair(
        measured=replace(measured, **changes), remaining=remaining, wall_s=1.0, spent_s=pair + 1.0
    )


PAIRS = tuple(saved_pair(pair) for pair in range(3))


@pytest.fixture
def path(tmp_path):
    return tmp_path / "check.journal"


@pytest.fixture
def written(path):
    """A journal with three pairs, and its bytes."""
    journal = start_journal(path, HEADER)
    for pair in PAIRS:
        journal.append(pair)
    journal.close()
    return path.read_bytes()


def read(path):
    journal = reopen_journal(path)
    journal.close()
    return journal


@pytest.mark.usefixtures("written")
def test_what_is_saved_is_read_again(path):
    journal = read(path)

    assert journal.header == HEADER
    assert journal.saved == PAIRS
    assert (journal.count, journal.has_torn_line) == (3, False)


def test_a_torn_last_line_is_dropped_and_the_next_pair_takes_its_place(path, written):
    whole_lines = written.splitlines(keepends=True)
    path.write_bytes(b"".join(whole_lines[:3]) + whole_lines[3][:-7])

    journal = reopen_journal(path)
    journal.append(PAIRS[2])
    journal.close()

    assert (journal.has_torn_line, len(journal.saved), journal.count) == (True, 2, 3)
    assert path.read_bytes() == written


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b"{}\n", id="without a checksum"),
        pytest.param(b"\xff" * 100, id="no text"),
        pytest.param(b"\n\n\n", id="empty lines"),
    ],
)
def test_what_is_no_journal_is_an_error_that_says_what_to_do(path, content):
    path.write_bytes(content)

    with pytest.raises(JournalError, match=r"remove it|check again"):
        reopen_journal(path)


def test_a_damaged_line_before_the_last_is_an_error(path, written):
    path.write_bytes(written.replace(b'"m:f"', b'"m:h"', 1))

    with pytest.raises(JournalError, match="damaged"):
        reopen_journal(path)


@settings(
    max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)
@given(data=st.data())
def test_any_damage_is_a_loss_of_the_last_pair_or_an_error(path, written, data):
    place = data.draw(st.integers(0, len(written) - 1))
    byte = data.draw(st.binary(min_size=0, max_size=3))
    path.write_bytes(written[:place] + byte + written[place + 1 :])

    try:
        journal = read(path)
    except JournalError:
        return

    assert journal.saved == PAIRS[: len(journal.saved)]
    assert len(journal.saved) >= 2


@pytest.mark.parametrize(
    "pair",
    [
        pytest.param(saved_pair(1), id="a gap"),
        pytest.param(saved_pair(0, workloads=("m:x",)), id="an unknown workload"),
        pytest.param(saved_pair(0, workloads=()), id="no workload"),
        pytest.param(saved_pair(0, remaining=(("m:x",),)), id="an unknown workload to come"),
        pytest.param(saved_pair(0, processes=1), id="more processes than it had"),
        pytest.param(saved_pair(0, seconds={"m:f": -1.0}), id="a negative time"),
        pytest.param(
            saved_pair(0, runs=(run("m:f", Side.BASE, 4, 0),)), id="a run of another pair"
        ),
        pytest.param(
            saved_pair(
                0,
                failures=(
                    Failure(workload="m:g", side=Side.BASE, why=FailureReason.RAISED, detail=""),
                ),
            ),
            id="a failure of another workload",
        ),
    ],
)
def test_a_pair_that_no_check_writes_is_an_error(path, pair):
    journal = start_journal(path, HEADER)
    journal.append(pair)
    journal.close()

    with pytest.raises(JournalError, match="does not fit its check"):
        reopen_journal(path)


def test_a_journal_of_another_version_is_an_error(path):
    start_journal(path, replace(HEADER, version=1)).close()

    with pytest.raises(JournalError, match="another version"):
        reopen_journal(path)


def test_an_endless_journal_is_an_error(path):
    with path.open("wb") as file:
        file.truncate(MAX_JOURNAL_BYTES + 1)

    with pytest.raises(JournalError, match="larger than any journal"):
        reopen_journal(path)


def test_a_journal_in_use_is_not_opened_twice(path):
    journal = start_journal(path, HEADER)

    for again in (lambda: start_journal(path, HEADER), lambda: reopen_journal(path)):
        with pytest.raises(JournalError, match="in use"):
            again()
    journal.close()
    reopen_journal(path).close()


def test_what_cannot_be_opened_says_why(tmp_path):
    with pytest.raises(JournalError, match=r"cannot open .*: No such file or directory"):
        start_journal(tmp_path / "missing" / "check.journal", HEADER)


def test_a_pair_too_many_is_not_saved_and_says_so(path):
    journal = start_journal(path, HEADER)
    journal.size = MAX_JOURNAL_BYTES - 10
    journal.append(PAIRS[0])
    journal.append(PAIRS[1])
    journal.close()

    assert "would exceed" in journal.failure
    assert read(path).saved == ()


def test_a_disk_that_fails_ends_saving_and_not_the_check(path):
    journal = start_journal(path, HEADER)
    os.close(journal.descriptor)
    journal.append(PAIRS[0])
    journal.append(PAIRS[1])

    assert journal.failure.endswith("Bad file descriptor")
    assert journal.count == 0


def test_old_journals_are_removed_unless_they_are_in_use(tmp_path):
    old, used, new = (tmp_path / f"{name}.journal" for name in ("old", "used", "new"))
    in_use = start_journal(used, HEADER)
    for each in (old, new):
        start_journal(each, HEADER).close()
    for each in (old, used):
        os.utime(each, (0, 0))

    remove_old_journals(tmp_path, max_age_s=100.0, now=new.stat().st_mtime + 50.0)

    in_use.close()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["new.journal", "used.journal"]


# A check of three pairs of two quick workloads, which writes a mark when a pair is done.
CHECK = """
import json, sys
from dataclasses import asdict, replace
from pathlib import Path
from perfledger.protocol import ChildRequest, Command, MeasuringEffort
from perfledger.records import Side, WorkloadSpec
from perfledger_runners.children.harness import prepare_harness
from perfledger_runners.children.interpreter import Interpreter
from perfledger_runners.measuring.pair_journal import reopen_journal, start_journal
from perfledger_runners.measuring.paired_runs import measure_pairs
sys.path.insert(0, {tests!r})
from example_journal import HEADER
folder = Path(sys.argv[1])
effort = MeasuringEffort(min_steps=2, max_steps=2, min_seconds=0, max_seconds=.01, max_warmups=1)
requests = {{
    side: ChildRequest(command=Command.MEASURE, root=str(folder / "code"),
        repository=str(folder / "elsewhere"), device="cpu", effort=effort, is_forking=True)
    for side in Side
}}
specs = [
    WorkloadSpec(id="benchmarks.w:" + name, module="benchmarks.w", function=name) for name in "ab"
]
class Rule:
    def start(self, workloads): self.pairs, self.decisions = {{each: 0 for each in workloads}}, []
    def add(self, base, head): self.pairs[base.workload] += 1
    def fewest_pairs(self): return 1
    def unfinished(self):
        self.decisions.append(dict(self.pairs))
        return frozenset(each for each, pairs in self.pairs.items() if pairs < 3)
    def next_pair(self, seconds): return None
    def pair_lengths(self, seconds): return {{}}
    def futile(self, most_pairs): return frozenset()
    def changes(self): return frozenset()
class Progress:
    def measuring(self, *_): pass
    def pair_done(self, *, pairs, **_): (folder / "done").write_text(str(pairs))
header = replace(HEADER, workloads=tuple(each.id for each in specs))
path = folder / "check.journal"
try:
    journal = reopen_journal(path)
except Exception:
    journal = start_journal(path, header)
rule = Rule()
interpreter = Interpreter(Path(sys.executable), sys.version_info[:3])
with prepare_harness(interpreter, environment={{}}) as harness:
    measured = measure_pairs(harness, requests, specs, rule, seed=5, max_pairs=9, budget_s=1e6,
        progress=Progress(), journal=journal)
runs = [[run.workload, run.side, run.pair, run.process, run.position] for run in measured.runs]
(folder / "result").write_text(json.dumps(
    {{"runs": runs, "decisions": rule.decisions, "failures": len(measured.failures)}}))
"""
WORKLOADS = """
import perfledger
@perfledger.workload()
def a():
    return lambda: sum(range(100))
@perfledger.workload()
def b():
    return lambda: sum(range(100))
"""
KILLS = 32 if IS_CI else 2


@pytest.mark.slow(ci_only=True)
def test_a_check_killed_at_any_moment_loses_at_most_the_pair_in_flight(tmp_path):
    code = tmp_path / "code" / "benchmarks"
    code.mkdir(parents=True)
    (code / "w.py").write_text(WORKLOADS)
    command = [sys.executable, "-c", CHECK.format(tests=str(Path(__file__).parent)), str(tmp_path)]
    began = time.monotonic()
    subprocess.run(command, check=True)
    expected, seconds = finished(tmp_path), time.monotonic() - began
    draw, kills, checks = random.Random(16), 0, 0

    while kills < KILLS:
        process = subprocess.Popen(command)
        try:
            assert process.wait(draw.uniform(0.1, 0.7) * seconds) == 0
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.wait()
            kills += 1
            assert saved_rounds(tmp_path) >= int(read_text(tmp_path / "done") or 0)
        else:
            checks += 1
            assert finished(tmp_path) == expected
    subprocess.run(command, check=True)

    assert finished(tmp_path) == expected


def saved_rounds(folder):
    """Return how many rounds the journal of a killed process has."""
    path = folder / "check.journal"
    if not path.exists() or not path.stat().st_size:
        return 0
    with path.open("rb") as file:  # a child that was being started has the lock until it runs
        fcntl.flock(file, fcntl.LOCK_EX)
    try:
        return sum(not each.remaining for each in read(path).saved)
    except JournalError:  # killed while it wrote the header
        return 0


def finished(folder):
    """Check a finished check's result, remove it, and return what is the same in each."""
    result = json.loads((folder / "result").read_text())
    for name in ("result", "check.journal", "done"):
        (folder / name).unlink()
    runs = [tuple(each) for each in result["runs"]]
    assert Counter((workload, side, pair) for workload, side, pair, _, _ in runs) == {
        (f"benchmarks.w:{name}", side, pair): 1
        for name in "ab"
        for side in Side
        for pair in range(3)
    }
    order = pair_order(5, 9)
    for _, side, pair, _, position in runs:
        assert position == (0 if order[pair] == side else 1)
    processes = {process for _, _, _, process, _ in runs}
    assert processes == set(range(6))
    return sorted(runs), result["decisions"], result["failures"]


def read_text(path):
    return path.read_text() if path.exists() else ""

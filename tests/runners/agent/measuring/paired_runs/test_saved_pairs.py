"""Pairs that an interrupted check saved, in the check that goes on."""

from perfledger.metrics import STEP_TIME
from perfledger.records import Run, Side, WorkloadSpec
from perfledger_runners.measuring.measured_pair import MeasuredPair
from perfledger_runners.measuring.pair_journal import SavedPair, reopen_journal, start_journal
from perfledger_runners.measuring.paired_runs import measure_pairs
from tests.runners.agent.measuring.example_journal import HEADER
from tests.suite.without_kernels import WithoutKernels


class Finished(WithoutKernels):
    """Wants no more pairs than were saved."""

    def start(self, workloads): ...

    def add(self, base, head): ...

    def fewest_pairs(self):
        return 1

    def unfinished(self):
        return frozenset()

    def next_pair(self, _):
        return None

    def futile(self, _):
        return frozenset()

    def changes(self):
        return frozenset()

    def pair_lengths(self, _):
        return {}


def test_runs_of_saved_pairs_are_checked_again_so_that_later_ones_are_compared_with_them(
    harness, request_for, tmp_path
):
    pair = MeasuredPair(
        pair=0,
        workloads=("m:f",),
        runs=tuple(
            Run(
                workload="m:f",
                side=side,
                pair=0,
                position=0,
                process=place,
                started_at="2026-11-20T00:00:00Z",
                samples={STEP_TIME.name: (1.0,)},
            )
            for place, side in enumerate(Side)
        ),
        processes=2,
    )
    journal = start_journal(tmp_path / "check.journal", HEADER)
    journal.append(SavedPair(measured=pair, remaining=(), wall_s=1.0, spent_s=1.0))
    journal.close()
    journal, checks = reopen_journal(tmp_path / "check.journal"), []

    measure_pairs(
        harness,
        dict.fromkeys(Side, request_for(tmp_path)),
        [WorkloadSpec(id="m:f", module="m", function="f")],
        Finished(),
        seed=1,
        max_pairs=3,
        budget_s=600,
        check_run=checks.append,
        journal=journal,
    )
    journal.close()

    assert checks == list(pair.runs)

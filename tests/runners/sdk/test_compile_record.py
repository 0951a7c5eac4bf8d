"""The time of what a process compiled."""

from perfledger.compile_record import CompilePhase, CompileRecord


def test_the_phases_do_not_overlap_and_sum_to_the_whole():
    record = CompileRecord(phases_s={CompilePhase.TRACING: 0.25, CompilePhase.BACKEND: 1.5})

    assert record.seconds == 1.75
    assert CompileRecord().seconds == 0

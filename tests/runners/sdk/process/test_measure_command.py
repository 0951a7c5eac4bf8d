"""One workload measured in this process, and its profiled windows."""

from array import array
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import cast

import pytest

from perfledger.failure_reason import UnmeasurableError
from perfledger.measuring.rank_link import RankPlace, join_ranks
from perfledger.measuring.timed_step import TimedStep
from perfledger.meters.clock import HostClock
from perfledger.meters.device import (
    MAX_WINDOW_STEPS,
    USUAL_EFFORT,
    HostMeter,
    ProfiledPass,
)
from perfledger.process.command_context import BoundWorkload
from perfledger.process.measure_command import (
    LATER_RESULT,
    MAX_KERNEL_STEPS,
    NO_PROFILER_REASON,
    PREPARED_REASON,
    evidence_of_ranks,
    record_windows,
)
from perfledger.protocol import ChildRequest, Command, MeasuringEffort
from perfledger.records import WorkloadSpec
from perfledger.step_evidence import ResultState, StepEvidence
from perfledger.workload import PreparedStep, Workload

SET_UPS = """
import perfledger
KEPT = []

@perfledger.workload(set_ups=3, check=len)
def work():
    KEPT.append(bytearray(1))
    return lambda: [0.5] * len(KEPT)
"""


@pytest.mark.slow(ci_only=True)
def test_a_workload_is_set_up_as_often_as_it_says_and_its_first_result_is_examined(
    write, send_command
):
    run = send_command(write({"benchmarks/w.py": SET_UPS}), Command.MEASURE).about(
        "benchmarks.w:work"
    )

    assert run["event"] == "run"
    assert run["evidence"]["answer"] == {"": 1}
    assert run["evidence"]["result"] == "finite"


NAN_LATER = """
import itertools, perfledger
count = itertools.count()
@perfledger.workload(check=lambda loss: next(count))
def work():
    return lambda: 0.5 if next(count) < 3 else float("nan")
"""


def test_the_check_of_the_first_result_says_nothing_for_one_that_is_nan_at_the_end(
    write, send_command
):
    run = send_command(write({"benchmarks/w.py": NAN_LATER}), Command.MEASURE).about(
        "benchmarks.w:work"
    )

    assert run["evidence"]["result"] == "not finite"
    assert run["evidence"]["answer"] == {"": 1, LATER_RESULT: "not finite"}


COUNTED_MEMORY = """
import perfledger
from perfledger.meters import process_memory
calls = []
process_memory.peak_bytes = lambda: len(calls)

@perfledger.workload()
def work():
    return lambda: calls.append(sum(range(50_000)))
"""


def test_peak_memory_is_read_before_the_samples_are_evaluated(write, send_command):
    run = send_command(write({"benchmarks/w.py": COUNTED_MEMORY}), Command.MEASURE).about(
        "benchmarks.w:work"
    )

    # Every call but the last one, which follows the samples.
    calls = len(run["warmups_s"]) + len(run["samples"]["step_time_p50"])
    assert run["samples"]["peak_memory"] == [calls]


PLAIN = """
import perfledger
@perfledger.workload()
def plain():
    return lambda: sum(range(100))
"""


class RecordingMeter(HostMeter):
    """A meter whose profiler notes what it is asked for, and runs one step."""

    def __init__(self, error=None):
        self.efforts = []
        self.error = error

    def trace(self, next_step, folder, name, *, effort=USUAL_EFFORT):
        self.efforts.append(effort)
        next_step()()
        if self.error is not None:
            raise self.error
        names = [folder / f"{name}-{number}" for number in range(effort.windows)]
        return ProfiledPass(
            tool="a profiler",
            trace=names[0],
            steps=effort.steps,
            step_seconds=1.0,
            repeats=tuple(names[1:]),
        )


@pytest.fixture
def context(tmp_path):
    request = ChildRequest(
        command=Command.MEASURE,
        root=str(tmp_path),
        repository=str(tmp_path),
        trace_folder=str(tmp_path / "traces"),
        windows=3,
    )
    channel = SimpleNamespace(leave_if_forked=lambda: None)
    return SimpleNamespace(request=request, root=tmp_path, channel=channel, link=None)


def measured(step, *, readings_s=(0.2, 0.2)):
    bench = TimedStep(lambda: step, HostClock(), effort=MeasuringEffort(), after_step=lambda: None)
    bench.renew()
    bench.readings_s = array("d", readings_s)
    return bench


def work():
    return list


BOUND = BoundWorkload(
    Workload(function=work, source_line="w.py"), WorkloadSpec(id="m:f", module="m", function="f")
)


def test_the_files_of_all_windows_are_named_in_the_trace_folder(context, tmp_path):
    fields = [record_windows(context, BOUND, measured(list), RecordingMeter()) for _ in range(2)]

    assert [each["tool"] for each in fields] == ["a profiler"] * 2
    traces = [str(trace) for each in fields for trace in cast("list[str]", each["traces"])]
    # Those of an earlier child may not have been read yet: no two have one name.
    assert len(set(traces)) == 6
    assert all(trace.startswith(str(tmp_path / "traces")) for trace in traces)


@pytest.mark.parametrize(("step_s", "steps"), [(0.2, 4), (0.01, 5), (1e-5, MAX_KERNEL_STEPS)])
def test_short_steps_have_more_of_them_in_a_window_and_none_records_shapes(context, step_s, steps):
    meter = RecordingMeter()

    record_windows(context, BOUND, measured(list, readings_s=(step_s,)), meter)

    (effort,) = meter.efforts
    assert (effort.steps, effort.windows, effort.has_shapes) == (steps, 3, False)
    assert effort.is_warm  # by the measured steps
    assert MAX_KERNEL_STEPS < MAX_WINDOW_STEPS


@pytest.mark.parametrize("kind", [RuntimeError, SystemExit])
def test_an_error_under_the_profiler_is_a_reason_and_no_failure(context, kind):
    meter = RecordingMeter(error=kind("CUPTI is taken"))

    fields = record_windows(context, BOUND, measured(list), meter)

    assert fields == {"reason": f"{kind.__name__}: CUPTI is taken"}


def test_steps_with_preparations_and_plain_python_have_no_windows(context):
    prepared = measured(PreparedStep(run=list, prepare=list, steps=1))

    assert record_windows(context, BOUND, prepared, RecordingMeter()) == {"reason": PREPARED_REASON}
    assert record_windows(context, BOUND, measured(list), HostMeter()) == {
        "reason": NO_PROFILER_REASON
    }


@pytest.mark.parametrize(
    ("request_fields", "reasons"),
    [
        ({"windows": 0}, []),
        ({"windows": 2}, [NO_PROFILER_REASON]),
        ({"windows": 2, "unprofiled": ("benchmarks.w:plain",)}, []),
    ],
)
def test_a_run_is_followed_by_its_windows_where_they_were_asked_for(
    write, send_command, tmp_path, request_fields, reasons
):
    answer = send_command(
        write({"benchmarks/w.py": PLAIN}),
        Command.MEASURE,
        trace_folder=str(tmp_path / "traces"),
        **request_fields,
    )

    assert len(answer.of("run")) == 1
    assert [each["windows"]["reason"] for each in answer.of("windows")] == reasons


def evidences_of_ranks(folder, evidences):
    def rank(number):
        link = join_ranks(folder, RankPlace(number, len(evidences)))
        try:
            return evidence_of_ranks(evidences[number], link)
        finally:
            link.close()

    with ThreadPoolExecutor(len(evidences)) as threads:
        return list(threads.map(rank, range(len(evidences))))


def test_the_evidence_of_ranks_is_the_worst_state_and_every_answer(tmp_path):
    first, second = evidences_of_ranks(
        tmp_path,
        [
            StepEvidence(result=ResultState.FINITE, answer={"": 1.5}, tolerance=0.01),
            StepEvidence(result=ResultState.NOT_FINITE, answer={"": 2, "loss": True}),
        ],
    )

    assert first.result is second.result is ResultState.NOT_FINITE
    assert first.answer == second.answer == {"": 1.5, "rank 1": 2, "rank 1 loss": True}
    assert first.tolerance == 0.01


def test_answers_of_ranks_that_are_too_many_together_are_refused(tmp_path):
    half = {str(place): place for place in range(51)}

    with pytest.raises(UnmeasurableError, match=r"102 values \(at most 100\)"):
        evidences_of_ranks(tmp_path, [StepEvidence(answer=half)] * 2)


def test_one_process_keeps_its_evidence():
    evidence = StepEvidence(answer={"": 1})

    assert evidence_of_ranks(evidence, None) is evidence

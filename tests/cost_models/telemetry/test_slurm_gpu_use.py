"""Tables made here in the shape of `sacct --parsable2`; none was recorded."""

import gzip
import json
import zlib
from base64 import b64encode

import pytest

from perfledger_cost_models.telemetry import slurm_gpu_use
from perfledger_cost_models.telemetry.activity_samples import DeviceOwner, clip_export
from perfledger_cost_models.telemetry.readers import read_activity
from perfledger_cost_models.telemetry.sample_table import table_of
from perfledger_cost_models.telemetry.signals import Signal
from perfledger_cost_models.telemetry.slurm_gpu_use import (
    MIG_JOBS_NOTE,
    NO_ACTIVITY_NOTE,
    summaries_of,
)
from perfledger_cost_models.usage.device_spans import UsageFileError

HEADER = "JobID|JobName|Account|Partition|Start|End|NTasks|AllocTRES|TRESUsageInAve|TRESUsageInTot"
DAY = "2026-10-01T"


def row(*, job="7", start="00", end="04", ranks="", gpus="", mean="", total=""):
    times = f"{DAY}{start}:00:00|{DAY}{end}:00:00"
    return f"{job}|train|nlp|a100|{times}|{ranks}|{gpus}|{mean}|{total}"


def read(*rows, header=HEADER):
    return read_activity("\n".join((header, *rows)).encode() + b"\n", "sacct.txt")


def hours(activity):
    return [round(each / 3600, 9) for each in (activity.ends - activity.starts).tolist()]


JOB = row(gpus="cpu=8,gres/gpu:a100=2,gres/gpu=2")


def test_the_marks_of_all_ranks_together_are_of_the_jobs_devices():
    (activity,) = read(
        JOB, row(job="7.0", total="cpu=1,gres/gpumem=72532M,gres/gpuutil=150")
    ).activities

    assert activity.owner == DeviceOwner(team="nlp", namespace="a100", job="7 train")
    assert (activity.signal, activity.devices, activity.is_peak) == (Signal.GPU_UTIL, 2.0, True)
    assert activity.shares.tolist() == [0.75]
    assert hours(activity) == [4]


def test_the_mean_of_a_rank_is_taken_times_the_ranks():
    (activity,) = read(JOB, row(job="7.0", ranks="2", mean="gres/gpuutil=100")).activities

    assert activity.shares.tolist() == [1.0]


def test_steps_at_one_time_add_up_and_steps_one_after_another_do_not():
    steps = (
        row(job="7.0", start="00", end="02", total="gres/gpuutil=40"),
        row(job="7.1", start="01", end="03", total="gres/gpuutil=100"),
    )

    (activity,) = read(JOB, *steps).activities

    assert activity.shares.tolist() == pytest.approx([0.2, 0.7, 0.5])
    assert hours(activity) == [1, 1, 1]


def test_a_time_without_a_step_is_not_known():
    (activity,) = read(JOB, row(job="7.0", start="03", total="gres/gpuutil=0")).activities

    assert activity.shares.tolist() == [0.0]
    assert hours(activity) == [1]


@pytest.mark.parametrize(("mark", "is_read"), [(200_000, True), (200_001, False)])
def test_a_gpu_has_a_thousand_ranks_at_most(mark, is_read):
    steps = (
        row(job="7.0", end="02", total="gres/gpuutil=50"),
        row(job="7.1", start="02", total=f"gres/gpuutil={mark}"),
    )

    (activity,) = read(JOB, *steps).activities

    assert sum(hours(activity)) == (4 if is_read else 2)


def test_slurms_code_for_unknown_is_no_mark():
    steps = (
        row(job="7.0", end="02", total="gres/gpuutil=50"),
        row(job="7.1", start="02", total="gres/gpuutil=18446744073709551"),
    )

    export = read(JOB, *steps)

    assert export.activities[0].shares.tolist() == [0.25]
    assert hours(export.activities[0]) == [2]
    assert "4.0 of the 8.0 device-hours of jobs have no activity" in export.notes[0]


def test_more_gpus_than_there_are_is_an_error():
    with pytest.raises(UsageFileError, match="line 2: 99999999 GPUs, more than"):
        read(row(gpus="gres/gpu=99999999"))


def test_jobs_without_gpus_and_steps_without_time_tell_nothing():
    step, none = "gres/gpuutil=100", row(job="7.1", start="04", end="04", total="gres/gpuutil=200")

    export = read(JOB, row(job="7.0", total=step), none, row(job="8", gpus="cpu=4"))

    assert [each.shares.tolist() for each in export.activities] == [[0.5]]
    assert export.notes == ()


def test_a_run_without_a_step_of_its_own_is_not_known():
    again = row(start="08", end="12", gpus="cpu=8,gres/gpu:a100=2,gres/gpu=2")

    export = read(JOB, row(job="7.0", total="gres/gpuutil=100"), again)

    assert [hours(each) for each in export.activities] == [[4]]
    assert "8.0 of the 16.0 device-hours" in export.notes[0]


def test_jobs_without_activity_get_a_note():
    other = row(job="8", gpus="gres/gpu=6")

    export = read(JOB, row(job="7.0", total="gres/gpuutil=9"), other)

    assert len(export.activities) == 1
    assert "24.0 of the 32.0 device-hours" in export.notes[0]


def test_memory_is_a_share_where_the_type_says_how_much_there_is():
    job = row(gpus="gres/gpu:l40s=1,gres/gpu=1")

    util, memory = read(job, row(job="7.0", total="gres/gpuutil=9,gres/gpumem=12G")).activities

    assert util.signal is Signal.GPU_UTIL
    assert memory.signal is Signal.MEMORY
    assert memory.shares.tolist() == pytest.approx([12 * 2**30 / 48e9])


def test_the_zeros_of_a_job_on_parts_mean_nothing():
    part = row(job="8", gpus="gres/gpu:a100_1g.5gb=1")

    export = read(
        JOB, row(job="7.0", total="gres/gpuutil=9"), part, row(job="8.0", total="gres/gpuutil=0")
    )

    assert [each.device for each in export.activities] == ["job 7"]
    assert export.notes == (MIG_JOBS_NOTE,)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        pytest.param([JOB], "no gres/gpuutil", id="no steps"),
        pytest.param([row(job="7.0", total="gres/gpuutil=9")], "no gres/gpuutil", id="no job"),
        pytest.param(
            [JOB, row(job="7.0", total="gres/gpuutil=x")], "no gres/gpuutil", id="a number"
        ),
        pytest.param([JOB, row(job="7.0", mean="gres/gpuutil=9")], "add NTasks", id="no ranks"),
        pytest.param([JOB, row(job="7.0", mean="a=9", ranks="9" * 30)], "add NTasks", id="huge"),
        pytest.param([JOB, row(job="7.0", start="xx")], "not a time", id="not a time"),
        pytest.param(
            [JOB, row(job="7.0", start="05", end="06", total="gres/gpuutil=9")],
            "no gres/gpuutil",
            id="a step after its job",
        ),
        pytest.param([JOB[:40]], "cells for", id="truncated"),
    ],
)
def test_a_file_without_activity_is_an_error(rows, message):
    with pytest.raises(UsageFileError, match=message):
        read(*rows)


def test_columns_that_are_missing_are_named():
    with pytest.raises(UsageFileError, match="lacks"):
        read("7|x", header="JobID|JobName")


ONE_GPU = b'{"nodes": {"a1": {"gpu_utilization": {"0": 50.0}}}}'


def jobstats(nodes):
    packed = gzip.compress(json.dumps({"gpus": 2, "nodes": nodes}).encode(), mtime=0)
    return "JS1:" + b64encode(packed).decode()


def with_comment(comment, *rest):
    return read(f"{JOB}|{comment}", *(f"{each}|" for each in rest), header=HEADER + "|AdminComment")


def test_what_jobstats_summed_up_goes_before_the_marks_for_it_is_a_mean():
    node = {
        "gpu_utilization": {"0": 98.6, "1": 0.0},
        "gpu_used_memory": {"0": 40e9, "1": 1e9},
        "gpu_total_memory": {"0": 80e9, "1": 80e9},
    }

    activity_export = with_comment(jobstats({"a1": node}), row(job="7.0", total="gres/gpuutil=200"))

    by_key = {(each.device, each.signal): each for each in activity_export.activities}
    busy, idle = (by_key[f"job 7 a1 gpu {at}", Signal.GPU_UTIL] for at in (0, 1))
    assert (busy.shares.tolist(), idle.shares.tolist()) == ([0.986], [0.0])
    assert (busy.is_peak, busy.devices, hours(busy)) == (False, 1.0, [4])
    memory = by_key["job 7 a1 gpu 0", Signal.MEMORY]
    assert (memory.shares.tolist(), memory.is_peak) == ([0.5], True)


@pytest.mark.parametrize(
    "comment",
    [
        *("JS1:Short", "JS1:None", "JS1:", "JS1:!!", "JS1:AAAA", "checked by hand"),
        "JS1:" + b64encode(zlib.compress(ONE_GPU)).decode(),  # without the header of gzip
        "JS1:" + b64encode(gzip.compress(b"[" * 3_000_000, mtime=0)).decode(),
        "JS1:"
        + b64encode(gzip.compress(b'{"nodes": {"a": {"gpu_utilization": 1}}}', mtime=0)).decode(),
        jobstats({"a1": {"gpu_utilization": {"0": 50.0}, "padding": " " * 100_000}}),
        jobstats({}),
        jobstats({"a1": {"gpu_used_memory": {"0": 1.0}}}),
        jobstats({"a1": {"gpu_utilization": {"0": 900.0}}}),
    ],
)
def test_a_comment_that_tells_nothing_leaves_the_marks(comment):
    activity_export = with_comment(comment, row(job="7.0", total="gres/gpuutil=150"))

    assert [each.shares.tolist() for each in activity_export.activities] == [[0.75]]


def test_a_job_that_was_requeued_counts_both_times():
    again = row(start="06", end="08", gpus="gres/gpu=2")
    steps = (row(job="7.0", total="gres/gpuutil=100"), row(job="7.0", start="06", end="08"))

    activities = read(JOB, again, *steps[:1], steps[1] + "gres/gpuutil=20").activities

    assert [(hours(each), each.shares.tolist()) for each in activities] == [
        ([4], [0.5]),
        ([2], [0.1]),
    ]


def test_more_runs_of_a_job_with_more_steps_than_any_has_are_refused():
    def rows(job, **values):
        base = row(job=job, **values)
        starts = (f"{DAY}00:{at // 60:02}:{at % 60:02}" for at in range(1500))
        return [base.replace(f"{DAY}00:00:00", start, 1) for start in starts]

    jobs, steps = rows("7", gpus="gres/gpu=2"), rows("7.0", total="gres/gpuutil=100")

    with pytest.raises(UsageFileError, match="export fewer days"):
        read(*jobs, *steps)


@pytest.mark.parametrize("twice", [JOB, row(job="7.0", total="gres/gpuutil=20")])
def test_a_run_or_a_step_twice_is_refused(twice):
    with pytest.raises(UsageFileError, match="appears twice"):
        read(JOB, twice, twice)


def test_a_step_is_of_the_job_of_its_cluster():
    rows = (
        *(f"{JOB}|east", f"{JOB}|west"),
        row(job="7.0", total="gres/gpuutil=100") + "|west",
        row(job="7.0", total="gres/gpuutil=20") + "|east",
    )

    export = read(*rows, header=f"{HEADER}|Cluster")

    assert [each.shares.tolist() for each in export.activities] == [[0.1], [0.5]]


def test_accounting_that_never_saw_a_gpu_at_work_may_not_look_at_all():
    assert NO_ACTIVITY_NOTE in read(JOB, row(job="7.0", total="gres/gpuutil=0,gres/gpumem=0")).notes
    assert NO_ACTIVITY_NOTE not in read(JOB, row(job="7.0", total="gres/gpuutil=1")).notes


def test_memory_of_an_unknown_size_is_not_known():
    node = {"gpu_utilization": {"0": 50.0}, "gpu_used_memory": {"0": 1.0}}

    for total in ({}, {"gpu_total_memory": {"0": 0.0}}):
        (summary,) = summaries_of(jobstats({"a1": node | total}))
        assert summary.memory is None
    (summary,) = summaries_of(jobstats({"a1": node | {"gpu_total_memory": {"0": 1.0}}}))
    assert summary.memory == 1


def test_two_runs_of_a_job_are_held_against_each_of_its_steps(monkeypatch):
    rows = [row(gpus="gres/gpu=1", start="00", end="01"), row(gpus="gres/gpu=1", start="02")]
    steps = [row(job=f"7.{at}", total="gres/gpuutil=50", start="02") for at in range(3)]
    monkeypatch.setattr(slurm_gpu_use, "MAX_PAIRS", 6)

    assert read(*rows, *steps).activities
    monkeypatch.setattr(slurm_gpu_use, "MAX_PAIRS", 5)
    with pytest.raises(UsageFileError, match="too many runs, steps or GPUs"):
        read(*rows, *steps)


def test_the_period_is_that_of_all_jobs():
    """Else a year like an hour of GPUs in a month without them would be a year of GPUs."""
    before = row(job="6", start="00", end="01", gpus="cpu=8")
    job = row(start="08", end="09", gpus="gres/gpu=2")
    step = row(job="7.0", start="08", end="09", total="gres/gpuutil=150")
    after = row(job="8", start="20", end="23", gpus="cpu=8")

    export = read(before, job, step, after)
    table = table_of([export])
    cut = table_of([clip_export(export, table.start + 2 * 3600, table.end - 3600)])

    assert (table.hours, cut.hours) == (23, 20)
    assert [hours(activity) for activity in export.activities] == [[1]]


def test_a_job_may_have_the_devices_of_one_before_it():
    """sacct does not name devices."""
    rows = [
        row(job=job + step, start=start, end=end, gpus=gpus, total=total)
        for job, start, end in (("1", "00", "04"), ("2", "04", "08"), ("3", "07", "09"))
        for step, gpus, total in (("", "gres/gpu=2", ""), (".0", "", "gres/gpuutil=100"))
    ]

    assert table_of([read(*rows)]).device_count == 4
    assert table_of([read(*rows[:4])]).device_count == 2

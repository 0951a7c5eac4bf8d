"""Tables made here in the shape of `sacct --parsable2`; none was recorded."""

import pytest

from perfledger_cost_models.usage.device_spans import UsageFileError
from perfledger_cost_models.usage.slurm_allocations import read_sacct

HEADER = "JobID|JobName|User|Account|Start|End|Elapsed|AllocTRES"
TRES = "billing=64,cpu=64,gres/gpu:h100=8,gres/gpu=8,mem=1T,node=1"


def row(**values):
    usual = {
        "JobID": "7",
        "JobName": "train-gpt",
        "User": "ada",
        "Account": "nlp",
        "Start": "2026-10-01T00:00:00",
        "End": "2026-10-01T06:00:00",
        "Elapsed": "06:00:00",
        "AllocTRES": TRES,
    }
    return "|".join((usual | values)[column] for column in HEADER.split("|"))


def read(*rows, header=HEADER):
    return read_sacct("\n".join((header, *rows)) + "\n", "sacct.txt")


def test_a_job_holds_its_gpus_from_start_to_end():
    (span,) = read(row()).spans

    assert span.device_hours == 48
    assert dict(span.labels) == {
        "job": "train-gpt",
        "user": "ada",
        "account": "nlp",
        "gpu": "h100",
    }


def test_steps_are_parts_of_their_jobs_and_not_counted_again():
    device_usage = read(
        row(), row(JobID="7.batch"), row(JobID="7.0"), row(JobID="8_3"), row(JobID="9+1")
    )

    assert len(device_usage.spans) == 3


def test_a_job_that_was_requeued_holds_them_again():
    again = row(Start="2026-10-01T08:00:00", End="2026-10-01T09:00:00")

    assert sum(span.device_hours for span in read(row(), again).spans) == 56


def test_a_job_of_two_clusters_is_two_jobs():
    rows = (f"{row()}|{cluster}" for cluster in ("east", "west"))

    assert len(read(*rows, header=f"{HEADER}|Cluster").spans) == 2


@pytest.mark.parametrize("values", [{"AllocTRES": "cpu=4"}, {"JobID": "7.batch"}])
def test_a_run_or_a_step_twice_is_refused_whatever_it_holds(values):
    with pytest.raises(UsageFileError, match=r"line 4: job '7\S*' appears twice"):
        read(row(JobID="8"), row(**values), row(**values))


@pytest.mark.parametrize("start", ["Unknown", "None", ""])
def test_a_job_that_has_not_begun_holds_nothing(start):
    assert len(read(row(), row(JobID="8", Start=start, End="Unknown")).spans) == 1


@pytest.mark.parametrize(
    ("elapsed", "hours"), [("06:30:00", 6.5), ("2-01:00:00", 49), ("30:00", 0.5)]
)
def test_a_running_job_has_held_them_for_as_long_as_it_runs(elapsed, hours):
    (span,) = read(row(End="Unknown", Elapsed=elapsed)).spans

    assert (span.end - span.start) / 3600 == hours


def test_raw_seconds_are_read_where_they_exist():
    header = "JobID|Start|ElapsedRaw|AllocTRES"

    (span,) = read("7|2026-10-01T00:00:00|3600|gres/gpu=2", header=header).spans

    assert span.device_hours == 2


@pytest.mark.parametrize(
    ("tres", "gpus"),
    [
        ("cpu=4,gres/gpu=3", 3),
        ("cpu=4,gres/gpu:a100=2,gres/gpu:v100=1", 3),
        ("gres/gpu:h100_1g.10gb=1", 0.142),  # a part of one
    ],
)
def test_gpus_are_counted_once(tres, gpus):
    (span,) = read(row(AllocTRES=tres)).spans

    assert span.devices == gpus


def test_a_job_without_gpus_counts_for_the_period_only():
    device_usage = read(
        row(), row(JobID="8", End="2026-10-09T00:00:00", AllocTRES="cpu=4,gres/gpumem=9")
    )

    assert len(device_usage.spans) == 1
    assert (device_usage.end - device_usage.start) / 86_400 == 8


def test_a_name_may_have_the_delimiter_in_it():
    (span,) = read(row(JobName="a|b|c")).spans

    assert span.labels["job"] == "a|b|c"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("JobID|Start\n", "lacks", id="a column is missing"),
        pytest.param(f"{HEADER}\n{row()[:30]}\n", "cells for", id="cut off"),
        pytest.param(f"{HEADER}\n{row(Start='soon')}\n", "not a time", id="not a time"),
        pytest.param(f"{HEADER}\n{row(End='Unknown', Elapsed='x')}\n", "Elapsed", id="no end"),
        pytest.param(f"{HEADER}\n{row(End='2026-09-01T00:00:00')}\n", "TZ=UTC", id="backwards"),
        pytest.param(f"{HEADER}\n{row()}\n{row()}\n", "appears twice", id="a row twice"),
        pytest.param(f"{HEADER}\n{row(AllocTRES='gres/gpu=99999999')}\n", "devices", id="too many"),
        pytest.param(
            f"{HEADER}\n{row(AllocTRES=f'gres/gpu={2**64 - 2}')}\n", "devices", id="no count"
        ),
        pytest.param(f"{HEADER}\n", "no entries", id="empty"),
        pytest.param(f"{HEADER}\n{row(JobName='x' * 200_000)}\n", "field", id="a huge cell"),
    ],
)
def test_what_cannot_be_counted_is_an_error_that_says_where(text, message):
    with pytest.raises(UsageFileError, match=message):
        read_sacct(text, "sacct.txt")


def test_a_part_of_a_gpu_holds_its_share_of_one():
    (span,) = read(row(AllocTRES="cpu=8,gres/gpu:a100_3g.40gb=2,gres/gpu=2")).spans

    assert span.device_hours == 6  # two halves of a GPU for six hours


@pytest.mark.parametrize(("end", "elapsed"), [("03:30:00", "01:00:00"), ("02:30:00", "02:00:00")])
def test_a_run_over_a_clock_change_is_refused_with_its_line(end, elapsed):
    times = {"Start": "2026-03-29T01:30:00", "End": f"2026-03-29T{end}", "Elapsed": elapsed}

    with pytest.raises(UsageFileError, match=r"line 2: .*clocks were changed, export with TZ=UTC"):
        read(row(**times))


def test_a_suspended_run_holds_its_gpus_for_longer_than_it_ran():
    (span,) = read(row(Elapsed="05:10:00")).spans

    assert span.device_hours == 48

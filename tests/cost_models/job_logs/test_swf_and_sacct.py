"""Logs of batch schedulers, made up in the documented formats."""

import pytest

from perfledger_cost_models.job_logs.csv_rows import SkipReason
from perfledger_cost_models.job_logs.formats import LogFormat
from perfledger_cost_models.job_logs.readers import read_job_log
from perfledger_cost_models.job_logs.table import JobLogError

SWF = """; MaxProcs: 8
1 0 5 100 4 -1 -1 4 200 -1 1 7 3 -1 1 2 -1 -1
2 60 -1 -1 -1 -1 -1 2 -1 -1 5 7 -1 -1 1 -1 -1 -1
"""
SACCT = """JobID|Account|Partition|Submit|Start|End|Timelimit|ReqTRES|AllocTRES|Priority
7|vision|gpu|2026-11-01T00:00:00|2026-11-01T00:01:00|2026-11-01T01:01:00|1-02:00:00|cpu=8|cpu=8,gres/gpu:h100=4,gres/gpu=4,mem=64G|12
7.batch||gpu|2026-11-01T00:01:00|2026-11-01T00:01:00|2026-11-01T01:01:00||||
8|vision|gpu|2026-11-01T00:02:00|Unknown|Unknown|UNLIMITED|cpu=1,gres/gpu=1||1
"""


def test_swf_gives_processors_waits_and_limits():
    log = read_job_log(SWF)
    jobs = log.jobs

    assert log.format is LogFormat.SWF
    assert jobs.submit_ms.tolist() == [0, 60_000]
    assert (jobs.run_ms.tolist(), jobs.wait_ms.tolist()) == ([100_000, -1], [5000, -1])
    assert (jobs.devices.tolist(), jobs.limit_ms[0]) == ([4, 2], 200_000)
    assert jobs.team.names == ("group 3", "user 7")
    assert log.left_out == ((SkipReason.NEVER_RAN, 1),)


@pytest.mark.parametrize(
    ("header", "devices"),
    [
        ("; Version: 2.2\n;\n; MaxProcs: 240\n", 240),
        (";MaxProcs:8\n", 8),
        ("; MaxNodes: 120\n", None),  # of how many processors
        ("; MaxProcs: 0\n", None),
        ("; MaxProcs: UNKNOWN\n", None),
        (f"; MaxProcs: {'9' * 30}\n", None),
        ("; Note: MaxProcs: 8\n", None),
        ("", None),
    ],
)
def test_swfs_header_states_the_devices(header, devices):
    row = "1 0 5 100 4 -1 -1 4 200 -1 1 7 3 -1 1 2 -1 -1\n"

    assert read_job_log(f"{header}{row}; MaxProcs: 9\n").stated_devices == devices


def test_swfs_smallest_numbers_are_numbers_and_below_zero_is_unknown():
    """Of the fields: 2 submission, 3 wait, 4 run, 5 processors, 8 requested, 9 limit, 16 queue."""
    rows = (
        "1 0 0 0 1 -1 -1 -1 1 -1 1 7 3 -1 1 2 -1 -1",
        "2 1 1 1 4 -1 -1 1 0 -1 1 7 3 -1 1 -1 -1 -1",
        "3 2 1 5 4 -1 -1 0 9 -1 1 7 3 -1 1 15 -1 -1",
        "4 3 0 5 -1 -1 -1 -1 9 -1 1 7 3 -1 1 1 -1 -1",
    )

    log = read_job_log("\n".join(rows))
    jobs = log.jobs

    assert jobs.submit_ms.tolist() == [0, 1000, 2000, 3000]
    assert jobs.devices.tolist() == [1, 1, 4, 0]
    assert jobs.run_ms.tolist() == [0, 1000, 5000, -1]
    assert jobs.wait_ms.tolist() == [0, 1000, 1000, -1]
    assert jobs.limit_ms.tolist() == [1000, 1000, 9000, 9000]
    assert [jobs.pool.names[code] for code in jobs.pool.codes] == ["2", "", "15", "1"]


@pytest.mark.parametrize(
    ("header", "submit", "start_s"),
    [
        ("; UnixStartTime: 1793491200", 60, 1_793_491_260),
        (";UnixStartTime:1793491200 ", 60, 1_793_491_260),
        ("; UnixStartTime: 1793491200", 1_793_491_260, 1_793_491_260),  # since 1970, all the same
        ("; UnixStartTime: 0", 60, 60),
        ("; UnixStartTime: UNKNOWN", 60, 60),
        (f"; UnixStartTime: {'9' * 30}", 60, 60),
        ("; Note: UnixStartTime: 1793491200", 60, 60),
        ("; MaxProcs: 8", 60, 60),
    ],
)
def test_swfs_header_says_when_its_times_begin(header, submit, start_s):
    row = f"1 {submit} 5 100 4 -1 -1 4 200 -1 1 7 3 -1 1 2 -1 -1"

    jobs = read_job_log(f"{header}\n{row}\n").jobs

    assert (jobs.start_s, jobs.submit_ms.tolist()) == (start_s, [0])


@pytest.mark.parametrize(
    ("eligible", "submit_s", "wait_s"),
    [
        ("2026-11-01T05:00:00", 5 * 3600, 3600),  # after a job that it depends on
        ("2026-10-31T23:59:59", 0, 6 * 3600),
        ("2026-11-01T07:00:00", 0, 6 * 3600),  # of a later requeue
        ("Unknown", 0, 6 * 3600),
        ("", 0, 6 * 3600),
    ],
)
def test_a_job_waits_from_when_it_could_start(eligible, submit_s, wait_s):
    first = "8|2026-11-01T00:00:00||2026-11-01T00:00:00|2026-11-01T01:00:00|gres/gpu=2"
    cells = f"9|2026-11-01T00:00:00|{eligible}|2026-11-01T06:00:00|2026-11-01T07:00:00|gres/gpu=2"

    jobs = read_job_log(f"JobID|Submit|Eligible|Start|End|AllocTRES\n{first}\n{cells}\n").jobs

    assert (jobs.submit_ms[-1] // 1000, jobs.wait_ms[-1] // 1000) == (submit_s, wait_s)


def test_sacct_without_processors_or_memory_has_none_of_them():
    cells = "9|2026-11-01T00:00:00|2026-11-01T00:01:00|2026-11-01T01:01:00|gres/gpu=2"

    jobs = read_job_log(f"JobID|Submit|Start|End|AllocTRES\n{cells}\n").jobs

    assert (jobs.devices[0], jobs.cpu_milli[0], jobs.memory_mib[0]) == (2, 0, 0)


def test_swf_counts_a_job_that_was_swapped_out_once():
    whole_text = "1 0 0 200 8 -1 -1 8 -1 -1 1 7 3 -1 1 1 -1 -1\n"
    stretches = whole_text.replace("-1 1 7", "-1 2 7") + whole_text.replace("-1 1 7", "-1 3 7")

    log = read_job_log(f"; made up\n{whole_text}{stretches}")

    assert (len(log.jobs), dict(log.left_out)) == (1, {SkipReason.STEP: 2})


def test_sacct_sums_gpu_types_where_there_is_no_total():
    cells = "9|2026-11-01T00:00:00|2026-11-01T00:01:00|2026-11-01T01:01:00"
    text = f"JobID|Submit|Start|End|AllocTRES\n{cells}|gres/gpu:a100=2,gres/gpu:h100=3\n"

    assert read_job_log(text).jobs.devices.tolist() == [5]


def test_sacct_counts_gpus_once_and_leaves_steps_out():
    log = read_job_log(SACCT)
    jobs = log.jobs

    assert log.format is LogFormat.SACCT
    assert jobs.devices.tolist() == [4, 1]
    assert (jobs.cpu_milli[0], jobs.memory_mib[0], jobs.priority[0]) == (8000, 65536, 12)
    assert (jobs.run_ms[0], jobs.wait_ms[0], jobs.limit_ms[0]) == (3_600_000, 60_000, 93_600_000)
    assert dict(log.left_out) == {SkipReason.STEP: 1, SkipReason.NEVER_RAN: 1}


def sacct_table(*rows):
    return "\n".join(("JobID|JobName|Submit|Start|End", *rows)) + "\n"


RUN = "7|a|2026-11-01T00:00:00|2026-11-01T00:01:00|2026-11-01T01:01:00"
AGAIN = "7|a|2026-11-01T01:01:00|2026-11-01T02:00:00|2026-11-01T02:30:00"


def test_each_run_of_a_job_that_slurm_requeued_is_a_job():
    jobs = read_job_log(sacct_table(RUN, AGAIN)).jobs

    assert jobs.run_ms.tolist() == [3_600_000, 1_800_000]
    assert jobs.wait_ms.tolist() == [60_000, 3_540_000]


@pytest.mark.parametrize(
    "row", [RUN, RUN.replace("7", "7.batch", 1), "8|b|2026-11-01T00:00:00|Unknown|Unknown"]
)
def test_a_run_a_step_or_a_waiting_job_given_twice_is_refused(row):
    with pytest.raises(JobLogError, match=r"the job log, line 4: job .* appears twice"):
        read_job_log(sacct_table(AGAIN, row, row))


def test_jobs_that_never_began_are_distinguished_by_their_submission():
    waiting = "8|b|2026-11-01T00:00:00|Unknown|Unknown"

    jobs = read_job_log(sacct_table(waiting, waiting.replace("11-01", "11-02"))).jobs

    assert jobs.run_ms.tolist() == [-1, -1]


def test_a_job_of_slurm_may_have_the_delimiter_in_its_name():
    jobs = read_job_log(sacct_table(RUN.replace("a", "a|b", 1))).jobs

    assert jobs.run_ms.tolist() == [3_600_000]


@pytest.mark.parametrize(
    ("used", "requested", "devices"),
    [("4", "-1", 4), ("4", "0", 4), ("4", "1", 1), ("4", "8", 8), ("-1", "-1", 0)],
)
def test_swf_counts_the_processors_requested_else_those_used(used, requested, devices):
    job = f"1 0 0 100 {used} -1 -1 {requested} -1 -1 1 7 3 -1 1 99 -1 -1\n"

    jobs = read_job_log("; made up\n" + SWF + job).jobs

    mine = [code for code, name in enumerate(jobs.pool.names) if name == "99"]
    assert jobs.devices[jobs.pool.codes == mine[0]].tolist() == [devices]


def test_swf_keeps_times_below_a_second_and_the_pool():
    log = read_job_log("; made up\n1 0 0.25 0.5 1 -1 -1 1 0.75 -1 1 7 3 -1 1 16 -1 -1\n").jobs

    assert (log.wait_ms[0], log.run_ms[0], log.limit_ms[0]) == (250, 500, 750)
    assert log.pool.names == ("16",)


def test_swf_names_the_line_of_an_error():
    with pytest.raises(JobLogError, match="line 2: 3 fields, but SWF has 18"):
        read_job_log("; made up\n1 0 0\n")


def test_sacct_without_tres_and_priority_has_none():
    cells = "9|2026-11-01T00:00:00|2026-11-01T00:01:00|2026-11-01T01:01:00"

    jobs = read_job_log(f"JobID|Submit|Start|End|AllocTRES|Priority\n{cells}|gres/gpu=1|\n").jobs

    assert (jobs.cpu_milli[0], jobs.memory_mib[0], jobs.priority[0]) == (0, 0, 0)


def test_fields_behind_the_eighteen_of_swf_are_ignored():
    row = "7 0 5 10 4 -1 -1 4 -1 -1 1 3 2 -1 -1 -1 -1 -1"

    jobs = read_job_log(f"{row} 99 gpu=4\n").jobs

    assert (jobs.devices.tolist(), jobs.run_ms.tolist()) == ([4], [10_000])
    with pytest.raises(JobLogError, match="17 fields, but SWF has 18"):
        read_job_log(f"; a log\n{row.rsplit(' ', 1)[0]}\n")


def test_a_field_of_swf_that_is_no_number_is_named():
    with pytest.raises(JobLogError, match="line 2, run time: 'x' is not a number"):
        read_job_log("; a log\n7 0 5 x 4 -1 -1 4 -1 -1 1 3 2 -1 -1 -1 -1 -1\n")


def test_a_job_of_swf_without_a_number_has_no_name():
    jobs = read_job_log(
        "-1 0 0 1 1 -1 -1 -1 1 -1 1 7 3 -1 1 2 -1 -1\n-1 5 0 1 1 -1 -1 -1 1 -1 1 7 3 -1 1 2 -1 -1"
    ).jobs

    assert len(jobs) == 2


def test_a_job_of_sacct_that_started_and_has_no_end_holds_its_devices_still():
    started = "9|2026-11-01T00:00:00|2026-11-01T00:01:00|Unknown"
    text = f"JobID|Submit|Start|End|AllocTRES\n{started}|gres/gpu=2\n"

    log = read_job_log(text + started.replace("9", "8", 1) + "|cpu=2\n")

    assert dict(log.left_out) == {SkipReason.STILL_RUNNING: 1, SkipReason.NEVER_RAN: 1}


def test_a_job_of_swf_that_was_cancelled_in_the_queue_never_ran():
    log = read_job_log("1 0 900 -1 4 -1 -1 4 -1 -1 5 7 3 -1 1 1 -1 -1\n")

    assert dict(log.left_out) == {SkipReason.NEVER_RAN: 1}


def test_a_job_of_sacct_on_parts_of_gpus_holds_their_share():
    times = "2026-11-01T00:00:00|2026-11-01T00:01:00|2026-11-01T01:01:00"
    text = f"JobID|Submit|Start|End|AllocTRES\n9|{times}|gres/gpu=2,gres/gpu:1g.10gb=2\n"

    jobs = read_job_log(text).jobs

    assert (jobs.devices.tolist(), jobs.milli.tolist()) == ([2], [284])

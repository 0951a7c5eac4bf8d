"""Job logs in every format; all rows are made up here, in the shapes that the formats document."""

import json
from contextlib import suppress

import pytest
from hypothesis import given, strategies as st

from perfledger_cost_models.job_logs.csv_rows import SkipReason
from perfledger_cost_models.job_logs.formats import LogFormat
from perfledger_cost_models.job_logs.readers import read_job_log
from perfledger_cost_models.job_logs.table import JobLogError

SACCT = """JobID|Account|Partition|Submit|Start|End|Timelimit|ReqTRES|AllocTRES|Priority
7|vision|gpu|2026-11-01T00:00:00|2026-11-01T00:01:00|2026-11-01T01:01:00|1-02:00:00|cpu=8|cpu=8,gres/gpu:h100=4,gres/gpu=4,mem=64G|12
7.batch||gpu|2026-11-01T00:01:00|2026-11-01T00:01:00|2026-11-01T01:01:00||||
8|vision|gpu|2026-11-01T00:02:00|Unknown|Unknown|UNLIMITED|cpu=1,gres/gpu=1||1
"""
PHILLY = json.dumps(
    [
        {
            "status": "Pass",
            "vc": "a1",
            "user": "u",
            "submitted_time": "2017-10-07 01:00:00",
            "attempts": [
                {
                    "start_time": "2017-10-07 01:00:10",
                    "end_time": "2017-10-07 01:01:10",
                    "detail": [{"ip": "m1", "gpus": ["gpu0", "gpu1"]}],
                },
                {"start_time": "2017-10-07 01:02:00", "end_time": None, "detail": []},
            ],
        },
        {"vc": "a1", "submitted_time": None, "attempts": []},
    ]
)
OPENB = """\
cpu_milli,num_gpu,gpu_milli,gpu_spec,qos,creation_time,deletion_time,scheduled_time
12000,1,460,,LS,0,1000,10
6000,0,0,,BE,5,,
6000,8,1000,V100M32|V100M16,BE,6,20,6
"""


def test_a_philly_job_runs_as_long_as_its_attempts_that_ended():
    log = read_job_log(PHILLY)

    assert log.format is LogFormat.PHILLY
    assert (log.jobs.run_ms.tolist(), log.jobs.wait_ms.tolist()) == ([60_000], [10_000])
    assert (log.jobs.devices.tolist(), log.jobs.pool.names) == ([2], ("a1",))
    assert log.left_out == ((SkipReason.NO_SUBMISSION, 1),)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "the job log is empty"),
        ("a,b\n1,2\n", "no column of submission times"),
        ("submit_time,duration,gpus\n", "no usable job"),
        ("submit_time,duration,gpus\nnan,1,1\n", "no usable job"),
        ("submit_time,duration,gpus\n1,inf,1\n", "a number"),
        ("submit_time,duration,gpus\n1,one,1\n", "a number"),
        ("submit_time,duration,gpus\n2026-99-01,1,1\n", "not a time"),
        ("submit_time,duration,gpus\n1,1e300,1\n", "must be from 0"),
        ("submit_time,duration,gpus\n-1,1,1\n", "must be from 0"),
        ("submit_time,duration,gpus\n1,1\n", "line 2: 2 cells for 3 columns"),
        ("submit_time,duration,gpus\n1,1,1e9\n", "requests"),
        ("submit_time,duration,gpus\n1,1,1e300\n", "correct it"),
        ("submit_time,duration,gpus,gpu_milli\n1,1,1,5000\n", "requests"),
        ("submit_time,duration,gpus,cpu_milli\n1,1,1,1e15\n", "is above"),
        ("submit_time,duration,gpus,cpu_milli\n1,1,1,1e308\n", "is above"),
        ('submit_time,duration,gpus\n1,1,"1\n', "not CSV"),
        ("1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18\n1 2\n", "fields, but SWF"),
        ("; c\nx 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18\n", "a number"),
        ("JobID|Submit|Start\n1|2|3\n", r"lacks \['End'\]"),
        ("       JobID     State\n------- -------\n7 COMPLETED\n", "add them to sacct --parsable2"),
        ("name,time\na,1\n", "only 'name, time': name it submit_time"),
        ("submit_time,duration,num_gpus_requested\n1,1,1\n", "no column of devices, only 'submit"),
        ("submit_time,duration,gpus\n01.11.2026 00:10,1,1\n", "is not a time such as 2026"),
        ("submit_time,duration,gpus\ninf,1,1\n", "is not a time"),
        ("\n\nsubmit_time,duration,gpus\n1,one,1\n", "line 4, duration"),
        ("submit_time;duration;gpus\n1;1,5;1\n", "line 2, duration: '1,5' has a comma: write dec"),
        ("JobID|Submit|Start|End\n1|2\n", "cells for"),
        ("JobID|Submit|Start|End\n1|soon|None|None\n", "not a time"),
        (f"JobID|Submit|Start|End|Timelimit\n1|{'2026-11-01|' * 3}soon\n", "not a time limit"),
        ("[" * 5000, "Philly"),
        ('[{"submitted_time": 5}]', "Philly"),
        ('[{"attempts": [{"detail": 3}]}]', "Philly"),
        ("submit_time,duration,gpus\n" + "1" * (2**20 + 1), "characters"),
    ],
)
def test_a_malformed_log_is_an_error_that_says_where(text, words):
    with pytest.raises(JobLogError, match=words):
        read_job_log(text)


@given(st.text(max_size=300), st.sampled_from([None, *LogFormat]))
def test_any_text_is_a_log_or_our_error(text, format_):
    try:
        log = read_job_log(text, format_=format_)
    except JobLogError:
        return
    assert len(log.jobs) > 0


@given(st.integers(0, len(SACCT)), st.integers(0, len(OPENB)), st.integers(0, len(PHILLY)))
def test_a_truncated_log_is_a_shorter_log_or_our_error(sacct, openb, philly):
    for text in (SACCT[:sacct], OPENB[:openb], PHILLY[:philly]):
        with suppress(JobLogError):
            assert len(read_job_log(text).jobs) <= 3


ONE_OF_EACH = {
    "swf": "7 0 5 10 4 -1 -1 4 -1 -1 1 3 2 -1 -1 -1 -1 -1\n",
    "csv": "job_id,gpu_num,submit_time,duration\n7,1,0,60\n",
    "tasks of Alibaba": "job_name,task_name,submit_time,duration,plan_gpu\n7,worker,0,60,100\n",
    "sacct": "JobID|Submit|Start|End\n7|2026-11-01|2026-11-01|2026-11-02\n",
}


@pytest.mark.parametrize("text", ONE_OF_EACH.values(), ids=ONE_OF_EACH)
def test_a_job_of_two_exports_is_refused_in_every_format(text):
    again = text + text.splitlines(keepends=True)[-1]

    assert len(read_job_log(text).jobs) == 1
    with pytest.raises(JobLogError, match=r"7.* appears twice"):
        read_job_log(again)


def test_a_job_of_two_exports_is_refused_in_json():
    philly = (
        '{"jobid": "7", "submitted_time": "2017-10-09 07:01:55", "vc": "a", "user": "u",'
        ' "attempts": []}'
    )
    kubernetes = (
        '{"kind": "Job", "metadata": {"name": "train", "namespace": "ml", "uid": "7",'
        ' "creationTimestamp": "2026-11-01T00:00:00Z"}, "spec": {}, "status": {}}'
    )

    for text in (f"[{philly}, {philly}]", f'{{"items": [{kubernetes}, {kubernetes}]}}'):
        with pytest.raises(JobLogError, match="7' appears twice, as jobs 1 and 2"):
            read_job_log(text)


def philly_job(submitted, started, ended):
    attempt = {"start_time": started, "end_time": ended, "detail": [{"ip": "m", "gpus": ["a"]}]}
    return {"vc": "a", "submitted_time": submitted, "attempts": [attempt]}


def test_times_of_philly_that_run_backwards_are_nothing():
    day = "2017-10-07 01:00"

    jobs = read_job_log(json.dumps([philly_job(f"{day}:10", f"{day}:05", f"{day}:03")])).jobs

    assert (jobs.run_ms.tolist(), jobs.wait_ms.tolist()) == ([0], [0])


def test_a_wrong_time_of_philly_has_its_place():
    good = philly_job("2017-10-07 01:00:00", "2017-10-07 01:00:05", "2017-10-07 01:00:10")
    bad = {**good, "submitted_time": "2017-99-07 01:00:00"}

    with pytest.raises(JobLogError, match="line 2"):
        read_job_log(json.dumps([good, bad]))


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_a_table_may_be_separated_as_excel_does(delimiter):
    rows = (("submit_time", "duration", "gpus"), ("2026-11-01 00:00", "60", "4"))

    log = read_job_log("\n".join(map(delimiter.join, rows)))

    assert (log.jobs.run_ms.tolist(), log.jobs.devices.tolist()) == ([60_000], [4])


@pytest.mark.parametrize(
    ("text", "accounting"),
    [
        ("==============================================================\nqname  all.q\n", "Grid"),
        ("04/20/2024 00:00:44;E;522083.barnacle;user=jg queue=gpu ctime=1713571000\n", "PBS's"),
        ('"JOB_FINISH" "10.1" 1713574844 1001 1000 33816578 8 1713571000\n', "LSF's"),
        (f"gpu.q:n1:g:al:train:9:sge:0:17672256:17672257:17672270:{'0:' * 33}0\n", "Grid"),
    ],
)
def test_accounting_that_is_not_read_is_refused_by_its_name(text, accounting):
    with pytest.raises(JobLogError, match=f"the job log is {accounting}.* convert it to SWF, or"):
        read_job_log(text)


@pytest.mark.parametrize(
    "text",
    [
        '{"jobs": [{"job_id": 1, "time": {"submission": 5}}], "meta": {"Slurm": {}}}',
        '{\n  "meta": {"plugin": {"type": "openapi/dbv0.0.38"}},\n  "errors": [],\n  "jobs": []\n}',
    ],
)
def test_json_of_sacct_is_refused_with_the_export_that_is_read(text):
    with pytest.raises(JobLogError, match=r"JSON of sacct.*: export it with sacct --parsable2"):
        read_job_log(text)


def test_sacct_with_commas_is_asked_for_with_parsable2():
    with pytest.raises(JobLogError, match=r"--parsable2 --format=\.\.\. with its header"):
        read_job_log("JobID,User,Submit,Start,End,AllocTRES\n344,a,1,2,3,gres/gpu=1\n")

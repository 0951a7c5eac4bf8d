"""Job logs in every format; all rows are made up here, in the shapes that the formats document."""

import json
from contextlib import suppress

import pytest
from hypothesis import given, strategies as st

from perfledger_cost_models.job_columns import LeftOut
from perfledger_cost_models.job_log import LogFormat, read_job_log
from perfledger_cost_models.jobs import JobLogError

SWF = """; MaxProcs: 8
1 0 5 100 4 -1 -1 4 200 -1 1 7 3 -1 1 2 -1 -1
2 60 -1 -1 -1 -1 -1 2 -1 -1 5 7 -1 -1 1 -1 -1 -1
"""
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
HELIOS = """\
job_id,user,vc,gpu_num,cpu_num,state,submit_time,start_time,end_time,duration,queue
1,u1,vc1,8,32,COMPLETED,2020-04-01 00:00:07,2020-04-01 00:00:09,2020-04-01 00:01:09,60,2
"""
OPENB = """\
cpu_milli,num_gpu,gpu_milli,gpu_spec,qos,creation_time,deletion_time,scheduled_time
12000,1,460,,LS,0,1000,10
6000,0,0,,BE,5,,
6000,8,1000,V100M32|V100M16,BE,6,20,6
"""
TASKS = """j1,tensorflow,2,Terminated,100.0,160.0,600.0,29.3,50.0,MISC
j2,worker,1,Terminated,120.0,180.0,600.0,29.3,200.0,V100
j3,ps,1,Failed,,,600.0,29.3,,
"""
KUBERNETES = (
    "namespace,label_kueue_x_k8s_io_queue_name,nvidia_com_gpu,kube_pod_created,"
    "kube_pod_start_time,kube_pod_completion_time,priority\n"
    "ml,research,2,1700000000,1700000060,1700003660,100\n"
    "ml,,1,1700000001,1700000002,1700000010,0\n"
)


def test_swf_gives_processors_waits_and_limits():
    log = read_job_log(SWF)
    jobs = log.jobs

    assert log.format is LogFormat.SWF
    assert jobs.submit_ms.tolist() == [0, 60_000]
    assert (jobs.run_ms.tolist(), jobs.wait_ms.tolist()) == ([100_000, -1], [5000, -1])
    assert (jobs.devices.tolist(), jobs.limit_ms[0]) == ([4, 2], 200_000)
    assert jobs.team.names == ("group 3", "user 7")
    assert log.left_out == ((LeftOut.NEVER_RAN, 1),)


def test_swf_counts_a_job_that_was_swapped_out_once():
    whole = "1 0 0 200 8 -1 -1 8 -1 -1 1 7 3 -1 1 1 -1 -1\n"
    stretches = whole.replace("-1 1 7", "-1 2 7") + whole.replace("-1 1 7", "-1 3 7")

    log = read_job_log(f"; made up\n{whole}{stretches}")

    assert (len(log.jobs), dict(log.left_out)) == (1, {LeftOut.STEP: 2})


def test_sacct_adds_up_models_where_no_sum_is_said():
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
    assert dict(log.left_out) == {LeftOut.STEP: 1, LeftOut.NEVER_RAN: 1}


def test_a_philly_job_runs_as_long_as_its_attempts_that_ended():
    log = read_job_log(PHILLY)

    assert log.format is LogFormat.PHILLY
    assert (log.jobs.run_ms.tolist(), log.jobs.wait_ms.tolist()) == ([60_000], [10_000])
    assert (log.jobs.devices.tolist(), log.jobs.pool.names) == ([2], ("a1",))
    assert log.left_out == ((LeftOut.NO_SUBMISSION, 1),)


def test_helios_keeps_virtual_clusters_as_pools():
    jobs = read_job_log(HELIOS).jobs

    assert (jobs.run_ms[0], jobs.wait_ms[0], jobs.cpu_milli[0]) == (60_000, 2000, 32_000)
    assert (jobs.pool.names, jobs.team.names) == (("vc1",), ("u1",))


def test_a_queue_is_a_wait_where_it_is_a_number_and_a_name_where_it_is_none():
    header = "submit_time,start_time,end_time,gpu_num,queue\n"

    jobs = read_job_log(header + "0,5,9,1,3\n0,5,9,1,root.nlp\n0,5,9,1,\n").jobs

    assert jobs.wait_ms.tolist() == [3000, 5000, 5000]
    assert [jobs.team.names[code] for code in jobs.team.codes] == ["", "root.nlp", ""]


def test_openb_pods_have_shares_and_accelerators_and_pending_ones_stay():
    jobs = read_job_log(OPENB).jobs

    assert jobs.share_milli.tolist() == [460, 1000, 1000]
    assert jobs.devices.tolist() == [1, 0, 8]
    assert jobs.milli.tolist() == [460, 0, 8000]
    assert jobs.run_ms.tolist() == [990_000, -1, 14_000]
    assert jobs.models.names == ("", "V100M16|V100M32")


def test_the_task_table_of_2020_is_read_without_its_header():
    log = read_job_log(TASKS)
    jobs = log.jobs

    assert (jobs.devices.tolist(), jobs.share_milli.tolist()) == ([2, 2], [500, 1000])
    assert jobs.cpu_milli.tolist() == [12_000, 6000]
    assert jobs.models.names == ("", "V100")
    assert log.left_out == ((LeftOut.NO_SUBMISSION, 1),)


def test_kubernetes_queues_come_before_namespaces():
    jobs = read_job_log(KUBERNETES).jobs

    assert jobs.team.names == ("ml", "research")
    assert (jobs.wait_ms[0], jobs.run_ms[0], jobs.priority[0]) == (60_000, 3_600_000, 100)


@pytest.mark.parametrize(
    "rows",
    [
        "timestamp,duration,num_gpus,gpu_time,cluster\n2017-10-09 07:01:55,66.0,4,264.0,11cb48\n",
        "gpu_model,cpu_request,gpu_request,worker_num,submit_time,duration\nA10,15,1,4,9589663,66\n",
        "job_id,num_gpu,submit_time,iterations,model_name,duration,interval\n0,4,30,606,vgg,66,30\n",
    ],
)
def test_traces_of_schedulers_artifacts_are_read(rows):
    jobs = read_job_log(rows).jobs

    assert (jobs.devices.tolist(), jobs.run_ms.tolist()) == ([4], [66_000])


def test_jobs_are_sorted_by_submission_and_ties_keep_their_order():
    text = "submit_time,duration,gpus\n5,1,1\n0,2,2\n5,3,3\n"

    assert read_job_log(text).jobs.run_ms.tolist() == [2000, 1000, 3000]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "no column of submissions"),
        ("a,b\n1,2\n", "no column of submissions"),
        ("submit_time,duration,gpus\n", "no job that can be used"),
        ("submit_time,duration,gpus\nnan,1,1\n", "no job that can be used"),
        ("submit_time,duration,gpus\n1,inf,1\n", "no number"),
        ("submit_time,duration,gpus\n1,one,1\n", "no number"),
        ("submit_time,duration,gpus\n2026-99-01,1,1\n", "no time"),
        ("submit_time,duration,gpus\n1,1e300,1\n", "must lie between"),
        ("submit_time,duration,gpus\n-1,1,1\n", "must lie between"),
        ("submit_time,duration,gpus\n1,1\n", "cut off"),
        ("submit_time,duration,gpus\n1,1,1e9\n", "asks for"),
        ("submit_time,duration,gpus\n1,1,1e300\n", "correct it"),
        ("submit_time,duration,gpus,gpu_milli\n1,1,1,5000\n", "asks for"),
        ("submit_time,duration,gpus,cpu_milli\n1,1,1,1e15\n", "at most"),
        ("submit_time,duration,gpus,cpu_milli\n1,1,1,1e308\n", "at most"),
        ('submit_time,duration,gpus\n1,1,"1\n', "no CSV"),
        ("1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18\n1 2\n", "fields where SWF"),
        ("; c\nx 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18\n", "no number"),
        ("JobID|Submit|Start\n1|2|3\n", "lacks one of sacct's columns"),
        ("JobID|Submit|Start|End\n1|2\n", "cut off"),
        ("JobID|Submit|Start|End|Timelimit\n1|2|3|4|soon\n", "no time limit"),
        ("[" * 5000, "Philly"),
        ('[{"submitted_time": 5}]', "Philly"),
        ('[{"attempts": [{"detail": 3}]}]', "Philly"),
        ("submit_time,duration,gpus\n" + "1" * 100_001, "characters"),
    ],
)
def test_what_is_no_log_is_an_error_that_says_where(text, words):
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
def test_a_log_that_is_cut_off_is_a_shorter_log_or_our_error(sacct, openb, philly):
    for text in (SACCT[:sacct], OPENB[:openb], PHILLY[:philly]):
        with suppress(JobLogError):
            assert len(read_job_log(text).jobs) <= 3

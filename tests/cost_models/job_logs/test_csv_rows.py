"""CSV job logs, made up in the formats of public traces and exporters."""

import pytest

from perfledger_cost_models.job_logs import csv_rows
from perfledger_cost_models.job_logs.csv_rows import SkipReason
from perfledger_cost_models.job_logs.readers import read_job_log
from perfledger_cost_models.job_logs.table import JobLogError

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
    assert log.left_out == ((SkipReason.NO_SUBMISSION, 1),)


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


@pytest.mark.parametrize(
    ("column", "cell", "milli"),
    [
        *((name, "2", 2000) for name in ("num_gpu", "gpu_num", "num_gpus", "gpus", "gpu_request")),
        ("devices", "2", 2000),
        ("nvidia_com_gpu", "2", 2000),
        ("nvidia_com_gpu", "0.25", 250),
        ("gpus", "0.0001", 1),  # a part is never none
        ("plan_gpu", "150", 2000),  # per cent, in whole devices
        ("plan_gpu", "50", 500),
    ],
)
def test_each_column_of_devices_has_its_unit(column, cell, milli):
    jobs = read_job_log(f"submit_time,duration,{column}\n0,5,{cell}\n").jobs

    assert jobs.milli.tolist() == [milli]


@pytest.mark.parametrize(
    ("column", "cell", "milli"),
    [
        ("cpu_milli", "1500", 1500),
        *((name, "1.5", 1500) for name in ("cpu_num", "num_cpu", "cpus", "cpu_request")),
        ("plan_cpu", "150", 1500),  # per cent of a core
        ("cpus", "-1", 0),
        ("cpus", "", 0),
    ],
)
def test_each_column_of_processors_has_its_unit(column, cell, milli):
    jobs = read_job_log(f"submit_time,duration,gpus,{column}\n0,5,1,{cell}\n").jobs

    assert jobs.cpu_milli.tolist() == [milli]


@pytest.mark.parametrize(
    ("column", "cell"), [("memory_mib", "2048"), ("plan_mem", "2"), ("memory_bytes", str(2**31))]
)
def test_each_column_of_memory_has_its_unit(column, cell):
    jobs = read_job_log(f"submit_time,duration,gpus,{column}\n0,5,1,{cell}\n").jobs

    assert jobs.memory_mib.tolist() == [2048]


def test_what_a_log_does_not_say_is_nothing():
    jobs = read_job_log("start_time,duration,gpus\n0,0.5,1\n").jobs

    assert (jobs.submit_ms.tolist(), jobs.run_ms.tolist()) == ([0], [500])
    assert (jobs.cpu_milli[0], jobs.memory_mib[0], jobs.priority[0]) == (0, 0, 0)


def test_times_of_less_than_a_second_are_times_and_negative_waits_unknown():
    header = "submit_time,start_time,end_time,gpus,priority\n"

    jobs = read_job_log(header + "0,0.5,0.75,1,\n1,0.5,0.75,1,\n").jobs

    assert (jobs.wait_ms.tolist(), jobs.run_ms.tolist()) == ([500, -1], [250, 250])
    assert jobs.priority.tolist() == [0, 0]


def test_a_job_that_ends_before_it_starts_is_left_out_with_a_reason():
    header = "submit_time,start_time,end_time,gpus\n"

    log = read_job_log(header + "0,5,9,1\n1,3600,10,1\n2,3,0,1\n")

    assert len(log.jobs) == 2
    assert dict(log.left_out)[SkipReason.ENDS_BEFORE_START] == 1
    assert str(SkipReason.ENDS_BEFORE_START) == "ends before it starts (clock change?)"


def test_a_job_that_starts_long_before_its_submission_is_left_out_with_a_reason():
    header = "submit_time,start_time,end_time,gpus\n"

    log = read_job_log(header + "9000,9001,9009,1\n9000,5400,9009,1\n9000,5399,9009,1\n")

    assert dict(log.left_out) == {SkipReason.STARTS_BEFORE_SUBMISSION: 1}
    assert log.jobs.wait_ms.tolist() == [1000, -1]


def test_milliseconds_since_1970_are_times():
    header = "submit_time,start_time,end_time,gpus\n"
    log = read_job_log(header + "1790812800000,1790812860500,1790812900000,1\n")

    assert log.jobs.start_s == 1_790_812_800
    assert (log.jobs.wait_ms.tolist(), log.jobs.run_ms.tolist()) == ([60_500], [39_500])


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("0,five,1", "line 2, duration: 'five' is not a number"),
        ("2026-13-01,5,1", "line 2, submit_time: '2026-13-01' is not a time such as 2026-11-01"),
        ("0,5,many", "line 2, gpus: 'many' is not a number"),
    ],
)
def test_an_error_names_the_column_and_what_it_contains(row, message):
    with pytest.raises(JobLogError, match=message):
        read_job_log(f"submit_time,duration,gpus\n{row}\n")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("submit_time,duration,gpus\n0,5,1\n5\n", "line 3: 1 cells for 3 columns"),
        ("submit_time,duration,gpus\n0,1,500,1\n", "line 2: 4 cells for 3 columns: quote cells"),
        ("submit_time,duration,gpus\n0,5,1\n0,x,1\n", "line 3"),
        ("submit_time,duration,gpus\n0," + "5" * 2**20, "line 2, has more than 1,048,576"),
    ],
)
def test_an_error_names_the_line_by_its_number(text, words):
    with pytest.raises(JobLogError, match=words):
        read_job_log(text)


def test_a_job_may_start_at_once_and_end_at_once_and_an_end_of_zero_has_not_come():
    jobs = read_job_log("submit_time,start_time,end_time,gpu_num\n5,5,5,1\n5,5,0,2\n").jobs

    assert jobs.wait_ms.tolist() == [0, 0]
    assert jobs.run_ms.tolist() == [0, -1]


@pytest.mark.parametrize(
    ("limit", "most", "words"),
    [
        ("MAX_AMOUNT", 32_000, "32000 milli-CPUs or MiB is above"),
        ("MAX_SECONDS", 8, "8 devices times 1"),
    ],
)
def test_amounts_of_a_row_have_limits(monkeypatch, limit, most, words):
    text = "submit_time,duration,gpu_num,cpu_num\n1,2,8,32\n"
    monkeypatch.setattr(csv_rows, limit, most)
    assert len(read_job_log(text).jobs) == 1

    monkeypatch.setattr(csv_rows, limit, most - 1)
    with pytest.raises(JobLogError, match=words):
        read_job_log(text)


def test_a_line_with_cells_and_fewer_than_the_header_is_truncated():
    header = "submit_time,duration,gpu_num\n"

    assert len(read_job_log(f"{header}1,2,1\n\n3,4,1\n").jobs) == 2
    with pytest.raises(JobLogError, match="line 2: 2 cells for 3 columns: complete or remove"):
        read_job_log(f"{header}1,2\n")


def test_a_column_that_is_there_twice_is_refused():
    log = "submit_time,start_time,end_time,gpus,GPUs\n0,0,1,1,8\n"

    with pytest.raises(JobLogError, match="the column 'gpus' twice, and only one would count"):
        read_job_log(log)


def test_a_job_runs_no_longer_than_from_its_start_to_its_end():
    # https://github.com/InternLM/AcmeTrace, README.md: the example of trace_kalos.csv, where
    # `duration` is from the submission on, unlike in trace_seren.csv.
    jobs = read_job_log(
        "job_id,gpu_num,submit_time,start_time,end_time,duration,queue\n"
        "dlctk696s0jbvitv,64,2023-05-17 11:00:58+00:00,2023-05-17 11:01:08+00:00,"
        "2023-05-17 11:01:16+00:00,18,10.0\n"
    ).jobs

    assert (jobs.run_ms.tolist(), jobs.wait_ms.tolist()) == ([8000], [10_000])


def test_a_preempted_job_runs_for_less_than_from_its_start_to_its_end():
    text = "submit_time,start_time,end_time,duration,gpus\n0,10,100,30,1\n0,0,0,50,1\n"

    assert read_job_log(text).jobs.run_ms.tolist() == [30_000, 50_000]  # 0 has not come yet


@pytest.mark.parametrize("none", ["0", "-1"])
def test_a_job_whose_start_is_zero_or_below_never_started(none):
    header = "submit_time,start_time,end_time,gpus\n"
    cancelled, waiting = f"1706702400,{none},1706706000,8\n", f"1706702401,{none},{none},8\n"

    log = read_job_log(header + cancelled + waiting)

    assert log.jobs.run_ms.tolist() == [-1, -1]  # neither 54 years nor no time
    assert log.left_out == ((SkipReason.NEVER_RAN, 2),)


def test_a_job_whose_end_is_below_zero_is_running_still():
    log = read_job_log("submit_time,start_time,end_time,gpus\n5,7,-1,1\n")

    assert log.left_out == ((SkipReason.STILL_RUNNING, 1),)


def test_a_job_may_start_at_the_beginning_of_the_log():
    jobs = read_job_log("submit_time,start_time,end_time,gpus\n0,0,5,1\n").jobs

    assert (jobs.run_ms.tolist(), jobs.wait_ms.tolist()) == ([5000], [0])


def test_a_log_without_a_header_asks_for_the_names_of_its_columns():
    with pytest.raises(JobLogError, match=r"begins with 'job-1, 1201, 0, 0', not with the names"):
        read_job_log("job-1,1201,0,0\njob-2,1300,5,5\n")

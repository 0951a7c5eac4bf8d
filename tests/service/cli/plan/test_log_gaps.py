"""What `perfledger plan` says of a job log in which hours are missing."""

import json
from functools import partial

import pytest

from perfledger_service.errors import UsageError

DAY_S = 86_400
FIRST_S = 1_767_571_200  # 2026-01-05


@pytest.fixture
def run(run):
    return partial(run, "plan")


@pytest.fixture
def log_without(tmp_path):
    """Return a function that writes sixty days of forty jobs each, without the jobs of some."""

    def write(first, last):
        rows = ["job_id,team,gpus,submit_time,start_time,end_time"]
        for number in range(60 * 40):
            submit = number * DAY_S // 40
            if not first * DAY_S <= submit < last * DAY_S:
                start = FIRST_S + submit
                rows.append(f"{number},a,{1 + number % 4},{start},{start + 60},{start + 3660}")
        path = tmp_path / "jobs.csv"
        path.write_text("\n".join(rows) + "\n")
        return path

    return write


@pytest.mark.parametrize("command", ["queue", "simulate"])
def test_a_log_that_lacks_many_hours_is_not_replayed(run, log_without, command):
    with pytest.raises(UsageError, match=r"2026-01-14 23:24 to 2026-01-25 01:01 UTC") as caught:
        run(command, log_without(10, 20))

    assert "rows are missing, or the cluster stood still" in str(caught.value)
    assert "Export them as well, or give only the jobs before or after them." in str(caught.value)


@pytest.mark.slow(ci_only=True)
def test_few_missing_hours_make_figures_of_use_lower_bounds(run, log_without):
    words = ("queue", log_without(30, 32), "--devices", 8, "--policy", "fifo")

    output = " ".join(run(*words, "--max-wait-minutes", 5).split())
    document = json.loads(run(*words, "--json"))

    assert "No job was submitted and ended from 2026-02-03" in output
    assert "at least" in output
    assert "At least" in output
    assert document["device_use"] == "lower bound"
    assert [sorted(gap) for gap in document["gaps"]] == [["end_s", "start_s"]]


def test_a_whole_log_has_no_gap(run, log_without):
    document = json.loads(
        run("queue", log_without(0, 0), "--devices", 8, "--policy", "fifo", "--json")
    )

    assert (document["gaps"], document["device_use"]) == ([], "complete")


def test_elastic_schedulers_name_the_missing_hours(run, log_without, tmp_path):
    speeds = tmp_path / "speeds.csv"
    speeds.write_text("accelerator,devices,speed\nA100-80GB,1,1\nA100-80GB,4,3\n")

    with pytest.raises(UsageError, match="rows are missing"):
        run("elastic", log_without(10, 20), "--speeds", speeds, "--capacity", "A100-80GB=8")

import pytest

from perfledger_cost_models.csv_table import PriceSheetError
from perfledger_cost_models.elastic_scheduling import job_speeds
from perfledger_cost_models.elastic_scheduling.job_speeds import read_speeds, speed_on
from perfledger_cost_models.job_logs.table import JobLogError

TABLE = """accelerator,devices,speed
A100,1,1
A100,4,3.4
H100,1,2
"""


def test_the_classes_keep_the_order_of_their_names_and_every_kind_has_the_speeds():
    speed_table = read_speeds(TABLE, "speeds.csv")

    assert speed_table.accelerators == ("A100", "H100")
    assert len(speed_table.configurations("any team")) == 3


def test_a_team_with_its_own_rows_has_only_those():
    text = "team,accelerator,devices,speed\n,A100,1,1\nvision,H100,1,5\n"

    speed_table = read_speeds(text, "speeds.csv")

    assert [each.speed for each in speed_table.configurations("vision")] == [5.0]
    assert [each.speed for each in speed_table.configurations("speech")] == [1.0]


@pytest.mark.parametrize(
    ("name", "devices", "speed"),
    [("A100", 1, 1.0), ("A100", 2, 1.8), ("A100", 4, 3.4), ("H100", 1, 2.0)],
)
def test_between_two_counts_the_speed_is_linear(name, devices, speed):
    job_configurations = read_speeds(TABLE, "speeds.csv").configurations("")

    assert speed_on(job_configurations, name, devices) == pytest.approx(speed)


@pytest.mark.parametrize(("name", "devices"), [("A100", 5), ("H100", 2), ("B200", 1)])
def test_beyond_the_counts_of_the_table_the_speed_is_unknown(name, devices):
    assert speed_on(read_speeds(TABLE, "speeds.csv").configurations(""), name, devices) is None


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (TABLE + "A100,1,2\n", "twice"),
        (TABLE + "A100,0,2\n", "number of devices"),
        (TABLE + "A100,1.5,2\n", "number of devices"),
        (TABLE + "A100,8,0\n", "speed above 0"),
        (TABLE + "A100,8,fast\n", "plain decimal"),
        ("devices,speed\n1,1\n", "columns"),
    ],
)
def test_a_table_that_cannot_be_trusted_is_refused(text, problem):
    with pytest.raises(PriceSheetError, match=problem):
        read_speeds(text, "speeds.csv")


def test_an_empty_table_is_refused():
    with pytest.raises(JobLogError, match="no speeds"):
        read_speeds("accelerator,devices,speed\n", "speeds.csv")


@pytest.mark.parametrize(("devices", "is_read"), [(0, False), (1, True), (8, True), (9, False)])
def test_a_speed_is_of_one_device_to_the_most_of_a_job(monkeypatch, devices, is_read):
    monkeypatch.setattr(job_speeds, "MAX_DEVICES", 8)
    text = f"accelerator,devices,speed\nA100,{devices},1\n"

    if is_read:
        assert speed_on(read_speeds(text, "s").configurations("team"), "A100", devices) == 1.0
    else:
        with pytest.raises(PriceSheetError, match="from 1 to 8"):
            read_speeds(text, "s")


def test_a_single_count_has_its_speed_and_no_other():
    job_configurations = read_speeds(
        "accelerator,devices,speed\nA100,2,3\n", "s.csv"
    ).configurations("")

    assert [speed_on(job_configurations, "A100", devices) for devices in (1, 2, 3)] == [
        None,
        3.0,
        None,
    ]

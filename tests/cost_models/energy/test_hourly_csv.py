import pytest

from perfledger_cost_models.energy.hourly_csv import read_hourly_series
from perfledger_cost_models.usage.device_spans import UsageFileError

START = 1_793_491_200.0  # 2026-11-01T00:00Z


def test_a_file_of_grams_and_prices_is_read():
    series = read_hourly_series(
        "time,g_per_kwh,usd_per_hour,zone\n2026-11-01T00:00Z,300,2.5,DE\n"
        "2026-11-01T02:00:00+01:00,250,2,DE\n",
        "grid.csv",
    )

    assert (series.start_s, series.step_s, series.end_s) == (START, 3600, START + 7200)
    assert (series.kg_per_kwh, series.usd_per_hour) == ((0.3, 0.25), (2.5, 2.0))


def test_electricity_maps_csv_is_read_unchanged():
    series = read_hourly_series(
        "Datetime (UTC),Country,Zone name,Zone id,Carbon intensity gCO₂eq/kWh (direct),"
        "Carbon intensity gCO₂eq/kWh (Life cycle),Data source\n"
        "2026-11-01 00:00:00,Germany,Germany,DE,300.5,360,x\n"
        "2026-11-01 01:00:00,Germany,Germany,DE,250,310,x\n",
        "DE_2026_hourly.csv",
    )

    assert (series.start_s, series.step_s) == (START, 3600)
    assert series.kg_per_kwh == pytest.approx((0.3005, 0.25))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ("time,kg_per_kwh\n", "no rows"),
        ("when,kg_per_kwh\n2026-11-01,1\n", "no column 'time'"),
        ("time,watts\n2026-11-01,1\n2026-11-02,1\n", "has none of the columns kg_per_kwh"),
        ("time,kg_per_kwh\n2026-11-01T00:00Z,1\n", "evenly spaced"),
        ("time,kg_per_kwh\n2026-11-01T00Z,1\n2026-11-01T01Z,1\n2026-11-01T03Z,1\n", "evenly"),
        ("time,kg_per_kwh\n2026-11-01T01Z,1\n2026-11-01T00Z,1\n", "evenly spaced"),
        ("time,kg_per_kwh\n2026-11-01T00Z,1\n2026-11-01T00Z,1\n", "evenly spaced"),
        ("time,kg_per_kwh\n2026-11-01T00Z,nan\n2026-11-01T01Z,1\n", "'nan'"),
        ("time,kg_per_kwh\n2026-11-01T00Z,-1\n2026-11-01T01Z,1\n", "'-1'"),
        ("time,kg_per_kwh\n2026-11-01T00Z,300\n2026-11-01T01Z,1\n", "not 0 to 3"),
        ("time,kg_per_kwh\n2026-11-01T00Z,\n2026-11-01T01Z,1\n", "'' is not 0 to"),
        ("time,kg_per_kwh\nyesterday,1\n2026-11-01T01Z,1\n", "not a time"),
        ("time,kg_per_kwh\n2026-11-01T00Z,1,2\n", "3 cells for 2"),
        ("time,kg_per_kwh,KG_per_kWh \n2026-11-01T00Z,1,2\n", "the column 'kg_per_kwh' twice"),
        ('time,kg_per_kwh\n"2026', "unexpected end"),
        ("time,kg_per_kwh\n" + "2026-11-01T00Z,1\n" * 20_001, "more than 20000 rows"),
    ],
)
def test_a_malformed_file_is_rejected(text, message):
    with pytest.raises(UsageFileError, match=message):
        read_hourly_series(text, "grid.csv")


@pytest.mark.parametrize("times", [("00:00", "00:01"), ("00:00", "24:00")])
def test_rows_are_a_minute_to_a_day_apart(times):
    days = [
        f"2026-11-0{1 + int(each[:2]) // 24}T{int(each[:2]) % 24:02}{each[2:]}Z" for each in times
    ]
    rows = "".join(f"{day},1\n" for day in days)

    series = read_hourly_series(f"time,kg_per_kwh\n{rows}", "grid.csv")

    assert series.step_s == (60 if times[1] == "00:01" else 86_400)


def test_a_single_row_has_no_step():
    with pytest.raises(UsageFileError, match="first rows are 0 s apart: give two or more"):
        read_hourly_series("time,kg_per_kwh\n2026-11-01T00:00Z,1\n", "grid.csv")


@pytest.mark.parametrize(("grams", "is_read"), [("3000", True), ("3000.5", False)])
def test_grams_have_the_limit_of_kilograms(grams, is_read):
    text = f"time,g_per_kwh\n2026-11-01T00Z,{grams}\n2026-11-01T01Z,1\n"

    if is_read:
        assert read_hourly_series(text, "grid.csv").kg_per_kwh == (3.0, 0.001)
    else:
        with pytest.raises(UsageFileError, match="not 0 to 3,000"):
            read_hourly_series(text, "grid.csv")


def test_a_file_without_amounts_says_which_columns_it_may_have():
    columns = "kg_per_kwh, g_per_kwh, usd_per_hour, usd_per_kwh, usd_per_mwh: rename or convert"
    with pytest.raises(UsageFileError, match=f"none of the columns {columns}"):
        read_hourly_series("time,x\n2026-11-01T00Z,1\n2026-11-01T01Z,1\n", "grid.csv")


def test_prices_are_negative_when_there_is_too_much_power():
    rows = "2026-11-01T00Z,-1.5\n2026-11-01T01Z,2\n"

    of_job = read_hourly_series(f"time,usd_per_hour\n{rows}", "prices.csv")
    of_power = read_hourly_series(f"time,usd_per_kwh\n{rows}", "prices.csv")

    assert (of_job.usd_per_hour, of_job.usd_per_kwh) == ((-1.5, 2.0), None)
    assert (of_power.usd_per_hour, of_power.usd_per_kwh) == (None, (-1.5, 2.0))


def test_day_ahead_prices_are_per_megawatt_hour():
    text = "time,usd_per_mwh\n2026-11-01T00Z,-500\n2026-11-01T01Z,87.5\n"

    series = read_hourly_series(text, "prices.csv")

    assert series.usd_per_kwh == (-0.5, 0.0875)
    assert series.end_s == START + 7200


@pytest.mark.parametrize(
    ("column", "price"),
    [
        ("usd_per_kwh", "85"),  # a price per MWh
        ("usd_per_kwh", "-20.5"),
        ("usd_per_mwh", "20001"),
        ("usd_per_hour", "-1e6"),
        ("usd_per_mwh", "-inf"),
    ],
)
def test_an_impossible_price_names_its_column_and_its_limits(column, price):
    text = f'time,{column}\n2026-11-01T00Z,1\n2026-11-01T01Z,"{price}"\n'

    message = rf"line 3: {column} '{price}' is not -[\d,]+ to [\d,]+"
    with pytest.raises(UsageFileError, match=message):
        read_hourly_series(text, "prices.csv")


def test_prices_of_the_job_and_of_power_are_not_added():
    text = "time,usd_per_hour,usd_per_mwh\n2026-11-01T00Z,1,1\n2026-11-01T01Z,1,1\n"

    with pytest.raises(UsageFileError, match="usd_per_hour and usd_per_mwh: keep one"):
        read_hourly_series(text, "prices.csv")


def test_the_row_after_a_gap_is_named():
    """As in local times in which a clock changes."""
    rows = "".join(f"2026-03-29T0{hour}:00,1\n" for hour in (0, 1, 3, 4))

    with pytest.raises(UsageFileError, match="line 4: 7,200 s after the row before, not 3,600"):
        read_hourly_series(f"time,usd_per_mwh\n{rows}", "prices.csv")

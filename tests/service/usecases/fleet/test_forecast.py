from datetime import date

import pytest

from perfledger_service.errors import UsageError
from perfledger_service.usecases.fleet.forecast import ForecastRequest, forecast_files
from perfledger_service.usecases.inputs.files import NamedBytes

# Two years of months, the last of them November 2026.
MONTHS = [f"{2024 + month // 12}-{month % 12 + 1:02}" for month in range(11, 35)]
TABLE = "month,hours\n" + "\n".join(f"{month},1000" for month in MONTHS)


def forecast_on(day, text=TABLE):
    request = ForecastRequest(step=None, periods=None, today=day)
    return forecast_files((NamedBytes("past.csv", text.encode()),), request, rate=None)


def test_a_month_that_has_not_ended_is_no_past():
    with pytest.raises(
        UsageError, match=r"month from 2026-11-01 to 2026-11-30 has not ended on 2026-11-28"
    ):
        forecast_on(date(2026, 11, 28))


@pytest.mark.parametrize("day", [date(2026, 11, 29), date(2026, 11, 30), date(2027, 6, 1)])
def test_a_month_counts_from_its_last_day_in_any_time_zone(day):
    (forecast,) = forecast_on(day).forecasts

    assert len(forecast.past) == 24

from contextlib import suppress

import pytest
from hypothesis import given, strategies as st

from perfledger_cost_models.billing.focus_columns import COLUMNS, OPTIONAL
from perfledger_cost_models.billing.usage_readers import read_usage
from perfledger_cost_models.usage.device_spans import (
    MAX_SPANS,
    MAX_USAGE_BYTES,
    DeviceSpan,
    UsageFileError,
    usage_of,
)

LAST = ("x_InstanceType", "Tags", "CommitmentDiscountStatus")


def bill(*rows):
    optional = [name for name in OPTIONAL if name not in LAST]
    columns = (*COLUMNS, *optional, *LAST)
    lines = [",".join(columns)]
    for values in rows:
        usual = dict.fromkeys(columns, "") | {
            "BillingCurrency": "USD",
            "BilledCost": "55.04",
            "ChargeCategory": "Usage",
            "ChargePeriodStart": "2026-10-01T00:00:00Z",
            "ChargePeriodEnd": "2026-10-01T01:00:00Z",
            "EffectiveCost": "55.04",
            "PricingCategory": "Standard",
            "PricingQuantity": "1",
            "PricingUnit": "Hours",
            "ProviderName": "AWS",
            "RegionId": "us-east-1",
            "SubAccountId": "42",
            "x_InstanceType": "p5.48xlarge",
            "Tags": '"{""team"": ""nlp"", ""empty"": null}"',
        }
        lines.append(",".join((usual | values)[column] for column in columns))
    return ("\n".join(lines) + "\n").encode()


def test_a_bill_s_instance_hours_are_device_hours_with_their_tags():
    (span,) = read_usage(bill({}), "bill.csv").spans

    assert span.device_hours == pytest.approx(8)
    assert span.labels == {
        "provider": "aws",
        "account": "42",
        "region": "us-east-1",
        "instance": "p5.48xlarge",
        "accelerator": "H100-80GB",
        "mode": "on_demand",
        "tag_team": "nlp",
    }


@pytest.mark.parametrize(("hours", "unit"), [("3600", "seconds"), ("60", "minutes")])
def test_hours_in_another_unit_are_not_counted(hours, unit):
    with pytest.raises(UsageFileError, match=r"another unit.*not counted") as caught:
        read_usage(bill({"PricingQuantity": hours}), f"{unit}.csv")

    assert str(caught.value).startswith(f"{unit}.csv: aws:p5.48xlarge on_demand: ")


def test_hours_at_a_tenth_of_the_list_price_may_be_agreed():
    (span,) = read_usage(bill({"PricingQuantity": "10"}), "bill.csv").spans

    assert span.device_hours == pytest.approx(80)


@pytest.mark.parametrize(
    "values",
    [
        {"x_InstanceType": "m7i.large"},
        {"PricingUnit": "GB-Mo"},
        {"CommitmentDiscountStatus": "Unused"},
        {"CapacityReservationStatus": "Unused"},
    ],
)
def test_what_is_no_use_of_an_accelerator_counts_for_the_period_only(values):
    device_usage = read_usage(
        bill({}, values | {"ChargePeriodEnd": "2026-10-09T00:00:00Z"}), "bill.csv"
    )

    assert len(device_usage.spans) == 1
    assert device_usage.end - device_usage.start == 8 * 86_400


@pytest.mark.parametrize("values", [{"ChargeCategory": "Purchase"}, {"ChargeClass": "Correction"}])
def test_charges_of_other_periods_do_not_stretch_the_bills(values):
    device_usage = read_usage(
        bill({}, values | {"ChargePeriodEnd": "2029-10-01T00:00:00Z"}), "bill.csv"
    )

    assert (len(device_usage.spans), device_usage.end - device_usage.start) == (1, 3600)


def test_a_correction_takes_hours_back():
    device_usage = read_usage(bill({}, {"PricingQuantity": "-1"}), "bill.csv")

    assert sum(span.device_hours for span in device_usage.spans) == 0


def test_tags_that_are_no_json_are_no_labels():
    (span,) = read_usage(bill({"Tags": "team:nlp"}), "bill.csv").spans

    assert not [name for name in span.labels if name.startswith("tag_")]


def test_empty_lines_of_a_bill_are_nothing():
    assert len(read_usage(bill({}) + b"\n", "bill.csv").spans) == 1


def test_a_file_that_is_too_large_is_refused_unread():
    with pytest.raises(UsageFileError, match="is larger than"):
        read_usage(bytes(MAX_USAGE_BYTES + 1), "usage")


def test_more_jobs_than_fit_are_refused():
    span = DeviceSpan({}, 1.8e9, 1.8e9 + 1, 1.0)

    with pytest.raises(UsageFileError, match="export shorter periods"):
        usage_of("usage", "Prometheus", [span] * (MAX_SPANS + 1))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        pytest.param(b"", "not a known usage file", id="empty"),
        pytest.param(b"hello\n", "not a known usage file", id="prose"),
        pytest.param(b"\xff\xfe|", "not UTF-16 text", id="not UTF-8"),
        pytest.param(b"{", "not an answer of OpenCost", id="a brace"),
        pytest.param(bill({"BillingCurrency": "EUR"}), "'EUR'", id="another currency"),
        pytest.param(bill({"PricingQuantity": "many"}), "not an amount", id="no number"),
        pytest.param(bill({"PricingQuantity": "1_0"}), "'1_0' is not an amount", id="Python's"),
        pytest.param(bill({})[:-40], "33 cells for 34 columns", id="a cut bill"),
        pytest.param(bill({}) + b'"', "line 3, is not CSV", id="an open quote"),
        pytest.param(bill(), "no rows", id="a bill without rows"),
    ],
)
def test_another_file_is_an_error(data, message):
    with pytest.raises(UsageFileError, match=message):
        read_usage(data, "usage")


@given(st.binary(max_size=300))
def test_any_bytes_are_a_usage_file_or_our_error(data):
    with suppress(UsageFileError):
        assert read_usage(data, "usage").name == "usage"


@pytest.mark.slow
@given(
    st.sampled_from(["JobID|Start|AllocTRES", "date,gpus", "time,value", ",".join(COLUMNS)]),
    st.text(max_size=300),
)
def test_any_rows_are_counted_or_our_error(header, rows):
    data = f"{header}\n{rows}".encode(errors="replace")

    with suppress(UsageFileError):
        assert read_usage(data, "usage").name == "usage"

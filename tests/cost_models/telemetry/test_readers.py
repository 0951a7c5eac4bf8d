import pytest
from hypothesis import given, settings, strategies as st

from perfledger_cost_models.telemetry.readers import read_activity
from perfledger_cost_models.usage.device_spans import MAX_USAGE_BYTES, UsageFileError


@pytest.mark.parametrize(
    ("data", "message"),
    [
        pytest.param(b"", "not a known export of activity", id="empty"),
        pytest.param(b"\xff\xfe\x00", "UTF-8", id="no text"),
        pytest.param(b"a,b\n1,2\n", "not a known export of activity", id="another table"),
        pytest.param(b'{"a": 1}', "not a known export of activity", id="another JSON"),
        pytest.param(b"x" * 300_000, "field larger", id="a huge cell"),
        pytest.param(b"," * 30_000, "more than 20,000 cells", id="many columns"),
        pytest.param(b" " * (MAX_USAGE_BYTES + 1), "larger than", id="too large"),
    ],
)
def test_a_file_of_an_unknown_kind_is_an_error(data, message):
    with pytest.raises(UsageFileError, match=message):
        read_activity(data, "x")


@pytest.mark.slow
@given(st.binary(max_size=200))
@settings(max_examples=50, deadline=None)
def test_any_bytes_are_read_or_refused(data):
    for prefix in (b"", b'{"resultType":', b'{"MetricDataResults":', b'{"timeSeries":', b"JobID|"):
        with pytest.raises(UsageFileError):
            read_activity(prefix + data, "x")

import json
from dataclasses import replace

import pytest

from perfledger.profile import Bucket, Profile
from perfledger.records import Side
from perfledger_profiles.bottleneck.classification import Bottleneck
from perfledger_profiles.hardware.device_state import DeviceState
from perfledger_service.rendering.layout.writers import plain_value
from perfledger_service.rendering.trace.profile_json import (
    classification_record,
    explanation_record,
    roof_record,
    trace_diff_record,
    trace_record,
)
from perfledger_service.values.trace_views import TraceDiffView


def as_json(record):
    return json.loads(json.dumps(plain_value(record), allow_nan=False))


@pytest.fixture
def explanation(reports):
    (explanation,) = reports["regressed"].explanations
    return explanation


def test_an_explanation_has_its_causes_and_buckets_with_their_differences(explanation):
    record = as_json(explanation_record(explanation))

    assert record["base_step_seconds"] == 0.01236
    assert [cause["kind"] for cause in record["causes"]] == ["replaced", "count", "new", "rate"]
    first = record["causes"][0]
    assert first["delta_seconds"] == pytest.approx(0.00172)
    assert (first["reason"], first["reverted_step_seconds"]) == ("fusion", 0.01292)
    assert first["base_name"] == "aten::_scaled_dot_product_flash_attention"
    total = record["head_step_seconds"] - record["base_step_seconds"]
    assert sum(one["delta_seconds"] for one in record["buckets"]) == pytest.approx(total, abs=1e-4)
    assert [one["bucket"] for one in record["buckets"]] == [
        str(bucket) for bucket in (Bucket.COMPUTE, Bucket.COPY, Bucket.CPU)
    ]


def test_what_an_explanation_does_not_know_is_null(explanation):
    record = as_json(explanation_record(replace(explanation, residual_seconds=None)))

    assert (record["residual_seconds"], record["noise_seconds"]) == (None, None)
    assert (record["base_device"], record["head_device"]) == (None, None)
    assert (
        as_json(explanation_record(replace(explanation, base_bottleneck=None)))["base_bottleneck"]
        is None
    )


def test_the_devices_states_are_in_hertz(explanation):
    throttled = DeviceState(clock_hertz=1.41e9, slowed_by=("power cap",))

    record = as_json(explanation_record(replace(explanation, head_device=throttled)))

    assert record["head_device"]["clock_hertz"] == 1.41e9
    assert record["head_device"]["slowed_by"] == ["power cap"]


def test_a_classification_has_all_its_shares_and_reasons(make):
    record = as_json(classification_record(make.classification(Bottleneck.LATENCY, 0.5)))

    assert (record["primary"], record["secondary"]) == ("latency", ["host"])
    assert [(one["bottleneck"], one["share"]) for one in record["shares"]] == [
        ("latency", 0.5),
        ("host", 0.16),
    ]
    assert record["shares"][0]["ceiling"] == pytest.approx(2.0)
    assert len(record["reasons"]) == 1


def test_what_is_not_known_has_no_record():
    assert classification_record(None) is None
    assert roof_record(None) is None


def test_a_roof_has_its_ridge_and_its_points(make):
    record = as_json(roof_record(make.trace_view().roof))

    assert (record["device"], record["dtype"]) == ("NVIDIA H100 80GB HBM3", "bfloat16")
    assert record["ridge_flop_per_byte"] == pytest.approx(295.3, abs=0.1)
    assert [point["name"] for point in record["points"]] == [
        "ampere_sgemm_128x64_tn",
        "softmax_warp_forward<float, 10>",
    ]
    assert (record["step"]["name"], record["covered"]) == ("step", 0.9)


def test_a_trace_has_every_field_of_its_profile_and_the_sums_of_its_buckets(make):
    record = as_json(trace_record(make.trace_view()))

    assert set(record["profile"]) == {*Profile.__dataclass_fields__, "buckets"}
    assert sum(record["profile"]["buckets"].values()) == pytest.approx(
        record["profile"]["step_seconds"]
    )
    assert record["recommendations"][0]["share"] == 0.16
    assert (record["name"], record["caveats"]) == ("trace.json.gz", [])


def test_a_difference_has_what_changed_and_not_the_profiles(make, explanation):
    view = TraceDiffView(
        base=make.trace_view("base.json", Side.BASE),
        head=make.trace_view("head.json"),
        explanation=explanation,
        is_same_device=False,
    )

    record = as_json(trace_diff_record(view))

    assert (record["base"], record["head"]) == ("base.json", "head.json")
    assert record["is_same_device"] is False
    assert record["explanation"]["workload"] == explanation.workload
    assert len(record["recommendations"]) == 1
    assert "profile" not in record

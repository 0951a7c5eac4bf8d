"""What a bundle says that its stopping knew: read as it was written, or refused."""

import json
from dataclasses import asdict

import pytest

from perfledger.bundle import Bundle, KnownSpread, Plan
from perfledger.records import Device, Machine, Revision
from perfledger_runners.bundles.files import read_bundle
from perfledger_runners.bundles.validation import MAX_SPREADS
from perfledger_runners.bundles.value_checks import BundleError

KNOWN = KnownSpread(
    workload="gpt:step",
    metric="step_time_p50",
    machine_class="cuda:NVIDIA H100 80GB HBM3:1",
    variance=1.234567890123456e-6,
    degrees=12.0,
    pairs=40,
)
BUNDLE = Bundle(
    id="0" * 32,
    created_at="2026-11-20T12:00:00+00:00",
    base=Revision(sha="a" * 40),
    head=Revision(sha="b" * 40),
    machine=Machine(device=Device.CPU, model="Test CPU"),
    plan=Plan(seed=1, order=(), looks=(1, 2, 3), spreads=(KNOWN,), history=17),
    workloads=(),
    metrics=(),
    runs=(),
)


def with_plan(**values):
    document = json.loads(BUNDLE.to_json())
    document["plan"] |= values
    return json.dumps(document).encode()


def test_what_was_known_comes_back_to_the_last_bit():
    assert read_bundle(BUNDLE.to_json().encode()) == BUNDLE


def test_a_bundle_from_before_there_was_a_history_knows_nothing():
    document = json.loads(BUNDLE.to_json())
    del document["plan"]["spreads"], document["plan"]["history"]

    plan = read_bundle(json.dumps(document).encode()).plan

    assert (plan.spreads, plan.history) == ((), None)


@pytest.mark.parametrize(
    ("field", "value", "complaint"),
    [
        ("variance", -1e-9, "negative"),
        ("variance", "1", "plan"),
        ("variance", None, "plan"),
        ("degrees", 0.0, "not between"),
        ("degrees", 1e9, "not between"),
        ("pairs", -1, "negative"),
        ("pairs", 1.5, "plan"),
        ("workload", "x" * 301, "more than 300 characters"),
        ("metric", 7, "plan"),
    ],
)
def test_a_spread_that_no_pairs_have_is_refused(field, value, complaint):
    with pytest.raises(BundleError, match=complaint):
        read_bundle(with_plan(spreads=[asdict(KNOWN) | {field: value}]))


@pytest.mark.parametrize("history", [-1, True, 1.5, "1"])
def test_a_history_that_has_no_such_entry_is_refused(history):
    with pytest.raises(BundleError, match="history"):
        read_bundle(with_plan(history=history))


def test_more_spreads_than_anyone_plans_with_are_refused():
    with pytest.raises(BundleError, match=r"plan\.spreads: more than"):
        read_bundle(with_plan(spreads=[asdict(KNOWN)] * (MAX_SPREADS + 1)))

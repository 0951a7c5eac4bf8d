"""Tests what a bundle may say of canaries, as hostile bundles would say it."""

import json
from dataclasses import replace

import pytest

from perfledger.bundle import Bundle, Plan
from perfledger.records import CanaryReading, Device, Framework, Machine, Revision, WorkloadSpec
from perfledger_runners.bundles.canary_checks import MAX_CANARIES, MAX_RATE
from perfledger_runners.bundles.files import read_bundle
from perfledger_runners.bundles.value_checks import MAX_WORD, BundleError

COMMIT = Revision(sha="a" * 40)
CANARY = CanaryReading(name="matmul", framework=Framework.TORCH, unit="FLOP", rates=(1e12, 1.1e12))
BUNDLE = Bundle(
    id="0" * 32,
    created_at="2026-11-20T12:00:00+00:00",
    base=COMMIT,
    head=COMMIT,
    machine=Machine(device=Device.CUDA, model="a GPU", uuid="GPU-1"),
    plan=Plan(seed=0, order=(), looks=()),
    workloads=(),
    metrics=(),
    runs=(),
    canaries=(CANARY,),
    repository="octo/models",
)


def test_canaries_go_through_json_unchanged():
    bundle = replace(BUNDLE, canaries=(replace(CANARY, expected_per_second=2e12),))

    assert read_bundle(bundle.to_json().encode()) == bundle


@pytest.mark.parametrize(
    "values",
    [
        {"rates": ()},
        {"rates": (1.0,)},
        {"rates": (1.0,) * 21},
        {"rates": (1.0, 0.0)},
        {"rates": (1.0, -1.0)},
        {"rates": (1.0, 2 * MAX_RATE)},
        {"expected_per_second": 0.0},
        {"name": ""},
        {"name": "x" * (MAX_WORD + 1)},
        {"unit": "x" * (MAX_WORD + 1)},
        {"name": "a\x00b"},
    ],
)
def test_an_impossible_canary_is_refused(values):
    bundle = replace(BUNDLE, canaries=(replace(CANARY, **values),))

    with pytest.raises(BundleError):
        read_bundle(bundle.to_json().encode())


@pytest.mark.parametrize("number", ["NaN", "Infinity", "1e999", '"fast"', "null"])
def test_a_rate_that_is_no_number_is_refused(number):
    document = BUNDLE.to_json().replace("1100000000000.0", number)
    assert number in document

    with pytest.raises(BundleError):
        read_bundle(document.encode())


@pytest.mark.parametrize(
    "values",
    [
        {"canaries": (CANARY, CANARY)},
        {"canaries": tuple(replace(CANARY, name=str(one)) for one in range(MAX_CANARIES + 1))},
        {"head": Revision(sha="b" * 40)},
        {"pull_request": 7},
        {"machine": Machine(device=Device.IMPORTED, model="another tool")},
        {"workloads": (WorkloadSpec(id="m:f", module="m", function="f"),)},
        {"settings": {"budget": 600.0}},
    ],
)
def test_canaries_come_once_and_with_nothing_else(values):
    with pytest.raises(BundleError):
        read_bundle(replace(BUNDLE, **values).to_json().encode())


def test_an_unknown_framework_is_refused():
    document = json.loads(BUNDLE.to_json())
    document["canaries"][0]["framework"] = "abacus"

    with pytest.raises(BundleError, match="docs/reference/bundle"):
        read_bundle(json.dumps(document).encode())

"""Bundles with the keys of earlier versions are read, and documents of another form are refused."""

import json
from dataclasses import replace

import pytest

from perfledger.bundle import KnownSpread
from perfledger_runners.bundles.files import read_bundle
from perfledger_runners.bundles.value_checks import BundleError
from tests.runners.agent.bundles.test_files import BUNDLE, SPEC


def test_spreads_of_older_bundles_have_their_machine_class():
    spread = KnownSpread(
        workload=SPEC.id,
        metric="step_time_p50",
        machine_class="h",
        variance=1.0,
        degrees=5.0,
        pairs=6,
    )
    bundle = replace(BUNDLE, plan=replace(BUNDLE.plan, spreads=(spread,)))
    older = bundle.to_json().replace('"machine_class"', '"device_class"')

    assert older != bundle.to_json()
    assert read_bundle(older.encode()) == bundle


@pytest.mark.parametrize("plan", [3, {"spreads": 3}, {"spreads": [3]}, {"spreads": [{}]}])
def test_a_plan_of_another_form_is_refused(plan):
    document = json.loads(BUNDLE.to_json()) | {"plan": plan}

    with pytest.raises(BundleError, match="plan"):
        read_bundle(json.dumps(document).encode())

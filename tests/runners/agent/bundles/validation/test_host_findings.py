"""What a bundle says of its machine's fitness: read as it was written, or refused."""

import json
from dataclasses import asdict

import pytest

from perfledger.bundle import Bundle, Plan
from perfledger.records import Device, FindingLevel, HostFinding, Machine, Revision
from perfledger_runners.bundles.files import read_bundle
from perfledger_runners.bundles.validation import MAX_FINDINGS
from perfledger_runners.bundles.value_checks import BundleError

FINDING = HostFinding(name="turbo", level=FindingLevel.NOISY, detail="on", advice="turn it off")
BUNDLE = Bundle(
    id="0" * 32,
    created_at="2026-11-20T12:00:00+00:00",
    base=Revision(sha="a" * 40),
    head=Revision(sha="b" * 40),
    machine=Machine(device=Device.CPU, model="Test CPU"),
    plan=Plan(seed=1, order=(), looks=(4,)),
    workloads=(),
    metrics=(),
    runs=(),
    host_findings=(FINDING,),
)


def written(**values):
    return json.dumps(asdict(BUNDLE) | values).encode()


def test_findings_are_read_as_they_were_written():
    assert read_bundle(written()) == BUNDLE


def test_a_bundle_from_before_they_were_recorded_has_none():
    document = asdict(BUNDLE)
    del document["host_findings"]

    assert read_bundle(json.dumps(document).encode()).host_findings == ()


@pytest.mark.parametrize(
    "change", [{"level": "calm"}, {"name": "x" * 301}, {"advice": None}, {"name": "a\0"}]
)
def test_a_finding_that_no_agent_writes_is_refused(change):
    with pytest.raises(BundleError, match="host_findings"):
        read_bundle(written(host_findings=[asdict(FINDING) | change]))


def test_more_findings_than_anything_has_are_refused():
    few = [asdict(FINDING)] * MAX_FINDINGS

    assert len(read_bundle(written(host_findings=few)).host_findings) == MAX_FINDINGS
    with pytest.raises(BundleError, match="host_findings: over 100"):
        read_bundle(written(host_findings=[*few, asdict(FINDING)]))

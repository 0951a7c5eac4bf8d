"""Packages in a bundle: read as they were written, and refused where they make no sense."""

import json

import pytest

from perfledger.bundle import Bundle, Plan
from perfledger.metrics import STEP_TIME
from perfledger.package_code import MAX_PACKAGES, CompiledModule, LoadedPackage
from perfledger.records import Device, Machine, Revision, Run, Side, WorkloadSpec
from perfledger_runners.bundles.files import read_bundle
from perfledger_runners.bundles.value_checks import BundleError

PACKAGE = LoadedPackage(
    name="mypkg",
    folder="/home/someone/" + "deep/" * 100,  # longer than a word
    is_own=False,
    modules=3,
    digest="a" * 64,
    compiled=(CompiledModule(path="/venv/_C.so", size_bytes=2**40, digest="b" * 64),),
)
BUNDLE = Bundle(
    id="0" * 32,
    created_at="2026-11-20T12:00:00+00:00",
    base=Revision(sha="a" * 40),
    head=Revision(sha="b" * 40),
    machine=Machine(device=Device.CPU, model="a CPU"),
    plan=Plan(seed=7, order=(), looks=(4,)),
    workloads=(WorkloadSpec(id="m:f", module="m", function="f"),),
    metrics=(STEP_TIME,),
    runs=(
        Run(
            workload="m:f",
            side=Side.BASE,
            pair=0,
            position=0,
            process=0,
            started_at="2026-11-20T12:00:00+00:00",
            samples={STEP_TIME.name: (0.5,)},
            packages=(PACKAGE,),
        ),
    ),
)


def with_packages(*packages):
    document = json.loads(BUNDLE.to_json())
    document["runs"][0]["packages"] = list(packages)
    return json.dumps(document).encode()


def package(**changes):
    return json.loads(BUNDLE.to_json())["runs"][0]["packages"][0] | changes


def test_packages_are_read_as_they_were_written():
    assert read_bundle(BUNDLE.to_json().encode()) == BUNDLE


def test_a_bundle_from_before_packages_were_recorded_has_none():
    document = json.loads(BUNDLE.to_json())
    del document["runs"][0]["packages"]

    assert read_bundle(json.dumps(document).encode()).runs[0].packages == ()


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"modules": 0}, "not positive"),
        ({"digest": "x" * 64}, "64 hex digits"),
        ({"compiled": [{"path": "a", "size_bytes": -1, "digest": ""}]}, "negative"),
        ({"compiled": [{"path": "a", "size_bytes": 1, "digest": "5"}]}, "64 hex digits"),
        ({"compiled": [{"path": "a", "size_bytes": 1, "digest": ""}] * 201}, "more than 200"),
        ({"folder": "f" * 5000}, "more than 4000"),
        ({"name": None}, "packages"),
    ],
)
def test_a_package_that_no_process_loads_is_refused(changes, complaint):
    with pytest.raises(BundleError, match=complaint):
        read_bundle(with_packages(package(**changes)))


def test_a_package_twice_or_too_many_are_refused():
    with pytest.raises(BundleError, match="a duplicate name"):
        read_bundle(with_packages(package(), package()))
    with pytest.raises(BundleError, match="more than 200"):
        read_bundle(with_packages(*(package(name=f"p{n}") for n in range(MAX_PACKAGES + 1))))


def test_a_package_beside_a_copy_of_it_is_read():
    bundle = read_bundle(with_packages(package(), package(folder="/site-packages/mypkg")))

    assert len({each.folder for run in bundle.runs for each in run.packages}) == 2

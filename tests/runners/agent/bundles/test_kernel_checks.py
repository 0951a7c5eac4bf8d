"""Hostile kernel times are refused with the field's name."""

import json

import pytest

from perfledger.bundle import Bundle, Plan
from perfledger.kernel_times import KernelTimes, WorkloadKernels
from perfledger.metrics import KERNELS, STEP_TIME
from perfledger.records import Device, Machine, Revision, WorkloadSpec
from perfledger_runners.bundles.files import read_bundle
from perfledger_runners.bundles.kernel_checks import MAX_KERNEL_PAIRS, MAX_KERNELS
from perfledger_runners.bundles.value_checks import BundleError

KERNEL = KernelTimes(
    family="aten::mm",
    name="aten::linear/aten::mm",
    base_count=2.0,
    head_count=2.0,
    base=((1e-3, 1e-3), (1e-3,)),
    head=((1e-3,), (0.0,)),
    base_undisturbed=(1e-3, 1e-3),
    head_undisturbed=(1e-3, 0.0),
)
BUNDLE = Bundle(
    id="0" * 32,
    created_at="2026-11-20T12:00:00+00:00",
    base=Revision(sha="a" * 40),
    head=Revision(sha="b" * 40),
    machine=Machine(device=Device.CPU, model="A Xeon"),
    plan=Plan(seed=1, order=(), looks=(5,), kernel_pairs=12, kernel_share=0.2),
    workloads=(WorkloadSpec(id="m:f", module="m", function="f"),),
    metrics=(STEP_TIME, KERNELS),
    runs=(),
    kernels=(
        WorkloadKernels(
            workload="m:f",
            pairs=(0, 2),
            base_steps=((1e-2, 1e-2), (1e-2,)),
            head_steps=((1e-2,), (1e-2,)),
            kernels=(KERNEL,),
        ),
    ),
)


def written(*path, value):
    """Return the bundle's JSON with one value replaced."""
    document = json.loads(BUNDLE.to_json())
    at = document
    for name in path[:-1]:
        at = at[name]
    at[path[-1]] = value
    return json.dumps(document).encode()


def test_a_bundle_with_kernels_is_read_as_it_was_written():
    assert read_bundle(BUNDLE.to_json().encode()) == BUNDLE


def test_an_older_bundle_without_kernels_is_read():
    document = json.loads(BUNDLE.to_json())
    del document["kernels"], document["plan"]["kernel_pairs"], document["plan"]["kernel_share"]
    document["metrics"] = document["metrics"][:1]

    bundle = read_bundle(json.dumps(document).encode())

    assert (bundle.kernels, bundle.plan.kernel_pairs) == ((), 0)


@pytest.mark.parametrize(
    ("path", "value", "complaint"),
    [
        (("plan", "kernel_pairs"), -1, "plan.kernel_pairs"),
        (("plan", "kernel_pairs"), MAX_KERNEL_PAIRS + 1, "plan.kernel_pairs"),
        (("plan", "kernel_pairs"), 0, "inconsistent with metrics"),
        (("plan", "kernel_share"), 1.0, "plan.kernel_share"),
        (("plan", "kernel_share"), 0.0, "inconsistent with metrics"),
        (("metrics",), [], "inconsistent with metrics"),
        (("kernels", 0, "workload"), "another", "workload: not one of"),
        (("kernels", 0, "pairs"), [2, 2], "pairs: not rising"),
        (("kernels", 0, "pairs"), [0], "base_steps: not steps of each pair"),
        (("kernels", 0, "base_steps"), [[1e-2, 1e-2], []], "base_steps: not steps of each pair"),
        (("kernels", 0, "head_steps"), [[0.0], [1e-2]], "head_steps: not above 0"),
        (("kernels", 0, "head_steps"), [[1.0], [1.0] * 2001], "head_steps: more than"),
        (("kernels", 0, "kernels", 0, "base"), [[1e-3], [1e-3]], "one time of base for each"),
        (("kernels", 0, "kernels", 0, "head"), [[1e-3], [-1e-3]], "a negative time on head"),
        (("kernels", 0, "kernels", 0, "base"), [[1e-3, 1e-3], [1.1e9]], "a time above .* on base"),
        (("kernels", 0, "kernels", 0, "head_undisturbed"), [1e-3, 1e39], "a time above .* on head"),
        (("kernels", 0, "kernels", 0, "head_count"), -1, "a negative count"),
        (("metrics", 0, "name"), "kernel:mm", "metrics: a name that begins with 'kernel:'"),
        (("kernels", 0, "failure"), "x" * 5000, "failure"),
    ],
)
def test_impossible_kernels_are_refused(path, value, complaint):
    with pytest.raises(BundleError, match=complaint):
        read_bundle(written(*path, value=value))


def test_a_workload_has_its_kernels_once_and_not_too_many():
    kernels = json.loads(BUNDLE.to_json())["kernels"]

    with pytest.raises(BundleError, match="a duplicate workload"):
        read_bundle(written("kernels", value=kernels * 2))
    many = kernels[0]["kernels"] * (MAX_KERNELS + 1)
    with pytest.raises(BundleError, match="more than"):
        read_bundle(written("kernels", 0, "kernels", value=many))


def test_too_many_pairs_are_refused():
    with pytest.raises(BundleError, match=f"more than {MAX_KERNEL_PAIRS}"):
        read_bundle(written("kernels", 0, "pairs", value=list(range(MAX_KERNEL_PAIRS + 1))))


def test_a_kernel_that_one_side_never_launched_is_one():
    data = written("kernels", 0, "kernels", 0, "base_count", value=0)

    (kernels,) = read_bundle(data).kernels
    assert kernels.kernels[0].base_count == 0

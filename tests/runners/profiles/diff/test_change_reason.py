from dataclasses import replace

import pytest

from perfledger.profile import Bucket, Kernel, OperationFamily
from perfledger_profiles.diff.cause import ChangeKind, ChangeReason
from perfledger_profiles.diff.change_reason import join_names
from perfledger_profiles.diff.diff import explain


def only_cause(base, head):
    (cause,) = explain(base, head).causes
    return cause


def why(make, old, new, seconds=(1e-3, 2e-3)):
    base = make.profile(make.operation("aten::mm", seconds[0], shapes=old, path="aten::linear"))
    head = make.profile(make.operation("aten::mm", seconds[1], shapes=new, path="aten::linear"))
    cause = only_cause(base, head)
    return cause.reason, cause.evidence


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (
            "float[64,64] float[64]",
            "double[64,64] double[64]",
            (ChangeReason.TYPE, "float[64,64] became double[64,64]"),
        ),
        (
            "float[8,8] float[64,64]",
            "float[8,8] float[128,64]",
            (ChangeReason.SHAPE, "float[64,64] became float[128,64]"),
        ),
        (
            "long int[4] float[9]",
            "long int[4] float[10]",
            (ChangeReason.SHAPE, "float[9] became float[10]"),
        ),
        (
            "TensorList[[2],[3,4]]",
            "TensorList[[2],[3,5]]",
            (ChangeReason.SHAPE, "TensorList[[2],[3,4]] became TensorList[[2],[3,5]]"),
        ),
        (
            "float[8] float[8]",
            "float[8]",
            (ChangeReason.SHAPE, "float[8] float[8] became float[8]"),
        ),
        ("float[8]", "float[8]", (ChangeReason.UNKNOWN, "")),
        ("", "", (ChangeReason.UNKNOWN, "")),
    ],
)
def test_other_inputs_are_the_reason_and_the_first_that_differs_the_evidence(
    make, old, new, expected
):
    assert why(make, old, new) == expected


def test_only_inputs_that_the_other_side_does_not_have_are_compared(make):
    base = make.profile(
        make.operation("aten::mm", 4e-3, shapes="float[9]", path="a"),
        make.operation("aten::mm", 1e-3, shapes="float[1]", path="a"),
    )
    head = make.profile(
        make.operation("aten::mm", 4e-3, shapes="float[9]", path="a"),
        make.operation("aten::mm", 8e-3, shapes="float[2]", path="a"),
    )

    assert only_cause(base, head).evidence == "float[1] became float[2]"


def test_another_kernel_for_the_same_work_is_a_variant(make):
    place = {"shapes": "float[8,8]", "path": "aten::conv2d"}
    base = make.profile(make.operation("winograd_fwd", 1e-3, **place))
    head = make.profile(make.operation("implicit_gemm", 2e-3, **place))

    cause = only_cause(base, head)

    assert (cause.kind, cause.reason) == (ChangeKind.REPLACED, ChangeReason.VARIANT)
    assert cause.evidence == "winograd_fwd became implicit_gemm"
    assert (cause.path, cause.bucket) == ("aten::conv2d", Bucket.COMPUTE)


def test_what_was_taken_apart_is_named_by_its_longest_parts(make):
    parts = [("aten::lerp_", 3e-3), ("aten::mul_", 2e-3), ("aten::div", 1e-3), ("aten::sqrt", 1e-4)]
    where = "Optimizer.step#Adam.step"
    base = make.profile(make.operation("aten::_fused_adam_", 1e-3, path=where))
    head = make.profile(*(make.operation(name, s, 9.0, path=where) for name, s in parts))

    cause = only_cause(base, head)

    assert (cause.name, cause.base_name) == ("aten::lerp_ (+3)", "aten::_fused_adam_")
    assert cause.reason is ChangeReason.FUSION
    assert cause.evidence == "aten::_fused_adam_ became aten::lerp_, aten::mul_ and 2 more"


def kernels(make, seconds, **more):
    kernel = Kernel(name="k", family=OperationFamily.GEMM, seconds=seconds, count=2.0, **more)
    return replace(make.profile(make.operation("k", seconds, 2.0)), kernels=(kernel,))


def test_a_lower_occupancy_is_the_reason_for_slower_launches(make):
    cause = only_cause(kernels(make, 1e-3, occupancy=0.5), kernels(make, 2e-3, occupancy=0.25))

    assert (cause.reason, cause.evidence) == (ChangeReason.OCCUPANCY, "occupancy 0.50 became 0.25")


@pytest.mark.parametrize("after", [0.46, 0.75, None])
def test_an_occupancy_that_is_alike_higher_or_unknown_is_not(make, after):
    cause = only_cause(kernels(make, 1e-3, occupancy=0.5), kernels(make, 2e-3, occupancy=after))

    assert cause.reason is ChangeReason.UNKNOWN


def test_more_bytes_a_launch_are_the_reason_for_slower_launches(make):
    cause = only_cause(
        kernels(make, 1e-3, bytes=2 * 3 * 2.0**20), kernels(make, 2e-3, bytes=2 * 6 * 2.0**20)
    )

    assert (cause.reason, cause.evidence) == (ChangeReason.BYTES, "3 MiB became 6 MiB a launch")


def test_fewer_bytes_or_the_same_are_not(make):
    for after in (2.0**19, 1.01 * 2.0**20):
        cause = only_cause(kernels(make, 1e-3, bytes=2.0**20), kernels(make, 2e-3, bytes=after))

        assert cause.reason is ChangeReason.UNKNOWN


def test_what_the_step_waits_for_its_data_in_is_one_cause(make):
    loader = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"
    other = make.operation("aten::mm", 9e-3)
    base = make.profile(
        other,
        make.operation(loader, 1e-3, bucket=Bucket.INPUT),
        make.operation("aten::stack", 1e-3, bucket=Bucket.INPUT, path=loader),
    )
    head = make.profile(
        other,
        make.operation(loader, 1e-3, bucket=Bucket.INPUT),
        make.operation("aten::stack", 1e-3, bucket=Bucket.INPUT, path=loader),
        make.operation("aten::sort", 5e-3, bucket=Bucket.INPUT, path=loader),
    )

    cause = only_cause(base, head)

    assert (cause.bucket, cause.evidence) == (Bucket.INPUT, "most of it is aten::sort")
    assert cause.delta_seconds == pytest.approx(5e-3)


def test_many_names_are_the_longest_and_how_many_more(make):
    operations = [make.operation(name, 1.0 / number) for number, name in enumerate("abcd", 1)]

    assert join_names(operations[:1]) == "a"
    assert join_names(operations[:2]) == "a and b"
    assert join_names(operations[:3]) == "a, b and c"
    assert join_names(operations) == "a, b and 2 more"


@pytest.mark.parametrize(
    ("before", "after", "evidence"),
    [
        (1.5 * 2**30, 3.0 * 2**30, "1.5 GiB became 3 GiB a launch"),
        (1.5 * 2**20, 2.0**30, "1.5 MiB became 1 GiB a launch"),
        (1.5 * 2**10, 2.0**20, "1.5 KiB became 1 MiB a launch"),
        (100.0, 2.0**10, "100 B became 1 KiB a launch"),
    ],
)
def test_bytes_are_written_in_the_largest_unit_that_they_reach(make, before, after, evidence):
    cause = only_cause(kernels(make, 1e-3, bytes=2 * before), kernels(make, 2e-3, bytes=2 * after))

    assert cause.evidence == evidence


def test_operations_of_one_family_are_not_said_to_do_the_same_work(make):
    base, head = (
        replace(
            make.profile(make.operation(name, seconds)),
            kernels=(Kernel(name=name, family=OperationFamily.COPY, seconds=seconds, count=1.0),),
        )
        for name, seconds in (("pack_rows", 2e-3), ("split_heads", 5e-3))
    )

    cause = only_cause(base, head)

    assert cause.kind is ChangeKind.REPLACED
    assert (cause.reason, cause.evidence) == (
        ChangeReason.UNKNOWN,
        "pack_rows became split_heads",
    )

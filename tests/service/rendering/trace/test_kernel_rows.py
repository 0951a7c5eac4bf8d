from dataclasses import replace

import pytest

from perfledger.records import Side
from perfledger_service.rendering.chart.marks import Tone
from perfledger_service.rendering.trace.kernel_rows import (
    bucket_rows,
    kernel_rows,
    operation_rows,
    paired_kernel_rows,
)


def test_the_buckets_are_sorted_and_their_shares_are_of_the_step(make):
    rows = bucket_rows(make.profile())

    assert [row.name for row in rows] == ["compute", "communication", "other", "host copies"]
    assert rows[0].part == 1.0
    assert rows[0].share.replace("\u00a0", " ") == "72.0 %"


def test_a_kernel_says_what_is_known_of_how_it_runs(make):
    gemm, softmax = kernel_rows(make.profile(), most=5)

    assert gemm.detail.replace("\u00a0", " ") == "48 calls, occupancy 31 %, tensor cores"
    assert softmax.detail == "12 calls"
    assert softmax.part < gemm.part == 1.0


def test_a_kernels_launches_are_one_row_whatever_their_shapes(make):
    profile = make.profile()
    gemm = profile.kernels[0]
    other = replace(gemm, seconds=gemm.seconds, count=16.0, occupancy=0.61, grid="4,1,1")

    row, _ = kernel_rows(replace(profile, kernels=(*profile.kernels, other)), most=5)

    assert row.figure.replace("\u00a0", " ") == "7.82 ms"
    assert row.detail.replace("\u00a0", " ") == "64 calls, occupancy 46 %, tensor cores"


def test_only_the_longest_are_shown(make):
    assert len(operation_rows(make.profile(), most=2)) == 2


def test_both_sides_are_held_against_each_other_by_name(make):
    base, head = make.profile(Side.BASE, softmax_s=0.001), make.profile(Side.HEAD)
    renamed = replace(head.kernels[0], name="sm90_gemm")
    head = replace(head, kernels=(renamed, head.kernels[1]))

    rows = {row.name: row for row in paired_kernel_rows(base, head, most=5)}

    assert (rows["ampere_sgemm_128x64_tn"].head, rows["sm90_gemm"].base) == ("", "")
    softmax = rows["softmax_warp_forward<float, 10>"]
    assert softmax.delta.replace("\u00a0", " ") == "+1.74 ms"
    assert (softmax.tone, rows["sm90_gemm"].tone) == (Tone.RED, Tone.RED)


def test_a_kernel_whose_template_path_has_another_version_is_one_row(make):
    base, head = make.profile(Side.BASE), make.profile(Side.HEAD)
    names = ("cutlass::v3::device_kernel<A<1>>(T1)", "cutlass::v4::device_kernel<A<2>>(T1)")
    base, head = (
        replace(side, kernels=(replace(side.kernels[0], name=name, seconds=seconds),))
        for side, name, seconds in zip((base, head), names, (1e-3, 3e-3), strict=True)
    )

    (row,) = paired_kernel_rows(base, head, most=5)

    assert (row.name, row.delta.replace("\u00a0", " ")) == (names[1], "+2.00 ms")
    assert [row.base_part, row.head_part] == pytest.approx([1 / 3, 1.0])


def test_kernels_that_cannot_be_told_apart_are_one_row_with_their_number(make):
    one, two = (
        replace(
            make.profile(),
            kernels=tuple(replace(make.profile().kernels[0], name=f"k<{n}>(int)") for n in numbers),
        )
        for numbers in ((1,), (2, 3))
    )

    (more,), (fewer,) = (paired_kernel_rows(*sides, most=5) for sides in ((one, two), (two, one)))

    assert (more.short, fewer.short) == ("k<2> (+1)", "k<1> (+1)")


def test_a_kernel_that_replaces_others_has_no_time_of_theirs(make):
    softmax = make.profile().kernels[1]
    base = replace(make.profile(Side.BASE), kernels=(softmax,))
    fused = replace(softmax, name="flash_fwd_kernel")
    head = replace(make.profile(Side.HEAD), kernels=(fused,))

    rows = {row.name: (row.base, row.head) for row in paired_kernel_rows(base, head, most=5)}

    assert rows[softmax.name][1] == rows[fused.name][0] == ""


def test_the_same_kernel_in_several_shapes_is_one_row(make):
    profile = make.profile()
    twice = replace(profile, kernels=(*profile.kernels, profile.kernels[0]))

    rows = paired_kernel_rows(profile, twice, most=5)

    assert rows[0].head.replace("\u00a0", " ") == "7.82 ms"


def test_operations_stand_in_where_nothing_ran_on_a_device(make):
    profile = replace(make.profile(), kernels=())

    rows = paired_kernel_rows(profile, profile, most=2)

    assert [(row.name, row.tone) for row in rows] == [
        ("aten::addmm", Tone.MUTED),
        ("aten::_softmax", Tone.MUTED),
    ]


def test_there_are_no_rows_of_nothing(make):
    empty = replace(make.profile(), kernels=(), operations=(), step_seconds=0.0)

    assert bucket_rows(empty) == kernel_rows(empty, most=5) == operation_rows(empty, most=5) == ()
    assert paired_kernel_rows(empty, empty, most=5) == ()

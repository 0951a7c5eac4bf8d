import pytest
from hypothesis import given, strategies as st

from perfledger.profile import Bucket, Operation, OperationFamily
from perfledger_profiles.diff.cause import ChangeKind
from perfledger_profiles.diff.matching import match
from perfledger_profiles.diff.operation_change import MatchStage


def hows(base, head):
    return sorted(
        (change.kind, tuple(o.name for o in change.base), tuple(o.name for o in change.head))
        for change in match(base, head)
    )


def test_the_same_operation_is_matched_by_name_shapes_and_place(make):
    base = [make.operation("aten::mm", 1.0, shapes="a", path="x"), make.operation("aten::mm", 2.0)]
    head = [make.operation("aten::mm", 3.0), make.operation("aten::mm", 4.0, shapes="a", path="x")]

    deltas = [(c.kind, c.base_seconds, c.head_seconds) for c in match(base, head)]

    assert deltas == [(ChangeKind.RATE, 1.0, 4.0), (ChangeKind.RATE, 2.0, 3.0)]


def test_another_kernel_for_the_same_operator_and_shapes_replaces_the_old_one(make):
    place = {"shapes": "float[8,8]", "path": "aten::conv2d"}
    base = [make.operation("winograd", 1.0, **place)]
    head = [make.operation("gemm", 0.5, **place), make.operation("transform", 0.6, **place)]

    assert hows(base, head) == [(ChangeKind.REPLACED, ("winograd",), ("gemm", "transform"))]


def test_other_shapes_at_the_same_place_are_the_same_work(make):
    base = [make.operation("aten::mm", 1.0, shapes="float[8,8]", path="aten::linear")]
    head = [make.operation("aten::mm", 2.0, shapes="double[8,8]", path="aten::linear")]

    assert hows(base, head) == [(ChangeKind.RATE, ("aten::mm",), ("aten::mm",))]


def test_products_in_another_type_are_matched_by_their_sizes(make):
    """Autocast changes the type of each; without their sizes each may be taken for another."""
    sizes = ("[512,10] {}[10,1024]", "[2048,512] {}[512,784]")
    base, head = (
        [
            make.operation("aten::mm", 1.0, shapes=kind + size.format(kind), path="AddmmBackward0")
            for size in order
        ]
        for kind, order in (("float", sizes), ("c10::Half", sizes[::-1]))
    )

    pairs = [(change.base[0].shapes, change.head[0].shapes) for change in match(base, head)]

    assert pairs == [
        ("float[512,10] float[10,1024]", "c10::Half[512,10] c10::Half[10,1024]"),
        ("float[2048,512] float[512,784]", "c10::Half[2048,512] c10::Half[512,784]"),
    ]


def test_kernels_whose_names_differ_by_a_size_are_compared_with_themselves(make):
    base = [make.operation("matmul_16_gpu", 1.0), make.operation("matmul_32_gpu", 2.0)]
    head = [make.operation("matmul_32_gpu", 2.0), make.operation("matmul_64_gpu", 4.0)]

    assert hows(base, head) == [
        (ChangeKind.RATE, ("matmul_16_gpu",), ("matmul_64_gpu",)),
        (ChangeKind.RATE, ("matmul_32_gpu",), ("matmul_32_gpu",)),
    ]


def test_new_instructions_of_one_name_are_one_work_and_numbered_fusions_are_not(make):
    names = ("sort.14", "sort.15", "fusion.1", "fusion.2")
    head = [make.operation(name, 1.0, path="jit_model") for name in names]
    operation = make.operation("sort.3", 1.0, path="jit_other")

    assert hows([], [*head, operation]) == [
        (ChangeKind.NEW, (), ("fusion.1",)),
        (ChangeKind.NEW, (), ("fusion.2",)),
        (ChangeKind.NEW, (), ("sort.14", "sort.15")),
        (ChangeKind.NEW, (), ("sort.3",)),
    ]


def test_an_operation_that_moved_is_the_same_work(make):
    base = [make.operation("aten::copy_", 1.0, path="a")]
    head = [make.operation("aten::copy_", 1.0, path="b")]

    assert hows(base, head) == [(ChangeKind.RATE, ("aten::copy_",), ("aten::copy_",))]


def test_what_came_and_went_inside_one_operator_replaces_it(make):
    place = "aten::conv2d"
    base = [make.operation("conv_fused", 1.0, shapes="float[1]", path=place)]
    head = [
        make.operation("im2col", 1.0, shapes="float[2]", path=place),
        make.operation("gemm", 1.0, shapes="float[2]", path=place),
    ]

    assert hows(base, head) == [(ChangeKind.REPLACED, ("conv_fused",), ("im2col", "gemm"))]


def test_a_span_that_may_hold_the_whole_step_says_nothing_about_what_came_and_went_in_it(make):
    for place in ("my forward", "jit_step"):
        base = [make.operation("aten::tanh", 1.0, shapes="float[8]", path=place)]
        head = [make.operation("aten::sort", 1.0, shapes="float[8]", path=place)]

        assert [how for how, _, _ in hows(base, head)] == [ChangeKind.GONE, ChangeKind.NEW]


def test_kernels_that_an_hlo_operation_launched_are_at_one_place(make):
    base = [make.operation("volta_sgemm_nn", 1.0, path="jit_step/dot.3")]
    head = [make.operation("winograd", 1.0, path="jit_step/dot.3")]

    assert hows(base, head) == [(ChangeKind.REPLACED, ("volta_sgemm_nn",), ("winograd",))]


def test_numbers_tell_operations_apart_only_within_the_same_program(make):
    base = [make.operation("dot.3", 1.0, path="jit_f"), make.operation("dot.4", 2.0, path="jit_f")]
    same = [make.operation("dot.3", 1.5, path="jit_f"), make.operation("dot.4", 2.0, path="jit_f")]
    moved_operations = [
        make.operation("dot.4", 1.0, path="jit_f"),
        make.operation("dot.5", 2.0, path="jit_f"),
    ]

    assert [change.delta_seconds for change in match(base, same)] == [0.5, 0.0]
    assert [change.delta_seconds for change in match(base, moved_operations)] == [0.0]


def test_the_same_library_kernel_of_another_generation_is_matched_by_its_name(make):
    base = [make.operation("volta_sgemm_128x64_nn", 1.0, path="a")]
    head = [make.operation("ampere_sgemm_64x64_tn", 1.0, path="b")]

    (change,) = match(base, head)

    assert change.stage is MatchStage.NAME


def test_kernels_of_one_family_are_matched_last(make):
    base = [make.operation("old_gemm_thing", 1.0), make.operation("old_thing", 1.0)]
    head = [make.operation("new_product", 1.0), make.operation("new_thing", 1.0)]
    families = {"old_gemm_thing": OperationFamily.GEMM, "new_product": OperationFamily.GEMM}

    stages = [(change.stage, change.kind) for change in match(base, head, families=families)]

    assert stages == [
        (MatchStage.FAMILY, ChangeKind.REPLACED),
        (MatchStage.ALONE, ChangeKind.GONE),
        (MatchStage.ALONE, ChangeKind.NEW),
    ]


def test_a_compiled_region_is_the_same_place_whatever_its_number(make):
    base = [make.operation("aten::mm", 1.0, path="Torch-Compiled Region: 0/0")]
    head = [make.operation("aten::mm", 2.0, path="Torch-Compiled Region: 1/0")]

    (change,) = match(base, head)

    assert (change.stage, change.delta_seconds) == (MatchStage.SAME, 1.0)


def test_what_has_no_counterpart_is_new_or_gone(make):
    base, head = [make.operation("aten::tanh", 1.0)], [make.operation("aten::item", 1.0)]

    assert hows(base, head) == [
        (ChangeKind.GONE, ("aten::tanh",), ()),
        (ChangeKind.NEW, (), ("aten::item",)),
    ]


def fused_and_parts(make):
    fused = [
        make.operation("aten::_flash_attention_forward", 1.0, path="aten::_scaled_dot_product"),
        make.operation("aten::mm", 1.0),
    ]
    parts = [
        make.operation("aten::bmm", 1.0, 2.0, path="aten::matmul"),
        make.operation("aten::_softmax", 1.0, path="aten::softmax"),
        make.operation("aten::mm", 1.0),
    ]
    return fused, parts


def test_a_fused_attention_that_is_lost_is_matched_with_its_parts(make):
    fused, parts = fused_and_parts(make)

    assert hows(fused, parts)[1:] == [
        (ChangeKind.REPLACED, ("aten::_flash_attention_forward",), ("aten::bmm", "aten::_softmax"))
    ]


def test_a_fused_attention_that_is_won_is_matched_with_its_parts(make):
    fused, parts = fused_and_parts(make)

    assert hows(parts, fused)[1:] == [
        (ChangeKind.REPLACED, ("aten::bmm", "aten::_softmax"), ("aten::_flash_attention_forward",))
    ]


def test_what_is_done_to_the_scores_of_an_attention_in_parts_is_part_of_it(make):
    fused, parts = fused_and_parts(make)
    scores = "float[8,64,64]"
    softmax = make.operation("aten::_softmax", 2.0, shapes=scores, path="aten::softmax")
    scale = make.operation("aten::div", 1.0, shapes=f"{scores} double[]")
    other = make.operation("aten::div", 1.0, shapes="float[8,64,32]")

    (attention,) = [
        change
        for change in match(fused, [*parts, softmax, scale, other])
        if change.stage is MatchStage.ATTENTION
    ]

    assert scale in attention.head
    assert other not in attention.head


def test_torchs_own_fallback_inside_the_fused_operator_is_parts(make):
    where = "aten::scaled_dot_product_attention"
    base = [make.operation("aten::_scaled_dot_product_flash_attention_for_cpu", 1.0, path=where)]
    head = [
        make.operation("aten::mul", 1.0, path=f"{where}/aten::_scaled_dot_product_attention_math")
    ]

    assert [how for how, _, _ in hows(base, head)] == [ChangeKind.REPLACED]


operations = st.lists(
    st.builds(
        Operation,
        name=st.sampled_from(["a", "b.1", "b.2", "aten::bmm", "flash", "flash_softmax"]),
        bucket=st.sampled_from([Bucket.COMPUTE, Bucket.CPU]),
        seconds=st.floats(0, 1),
        count=st.floats(0, 9),
        shapes=st.sampled_from(["", "float[1]", "float[2]"]),
        path=st.sampled_from(["", "p", "q"]),
    ),
    max_size=8,
    unique_by=lambda o: (o.name, o.bucket, o.shapes, o.path),
)


@pytest.mark.slow
@given(operations, operations)
def test_each_operation_is_in_exactly_one_change(base, head):
    changes = match(base, head)

    def ranked(many):
        return sorted(many, key=repr)

    assert ranked(o for c in changes for o in c.base) == ranked(base)
    assert ranked(o for c in changes for o in c.head) == ranked(head)

import pytest
from hypothesis import given, strategies as st

from perfledger.profile import Bucket, Operation
from perfledger_profiles.cause import How
from perfledger_profiles.matching import Change, match, normal_name


def hows(base, head):
    return sorted(
        (change.how, tuple(o.name for o in change.base), tuple(o.name for o in change.head))
        for change in match(base, head)
    )


def test_the_same_operation_is_matched_by_name_shapes_and_place(make):
    base = [make.operation("aten::mm", 1.0, shapes="a", path="x"), make.operation("aten::mm", 2.0)]
    head = [make.operation("aten::mm", 3.0), make.operation("aten::mm", 4.0, shapes="a", path="x")]

    deltas = [(c.how, c.base_seconds, c.head_seconds) for c in match(base, head)]

    assert deltas == [(How.RATE, 1.0, 4.0), (How.RATE, 2.0, 3.0)]


def test_another_kernel_for_the_same_operator_and_shapes_replaces_the_old_one(make):
    place = {"shapes": "float[8,8]", "path": "aten::conv2d"}
    base = [make.operation("winograd", 1.0, **place)]
    head = [make.operation("gemm", 0.5, **place), make.operation("transform", 0.6, **place)]

    assert hows(base, head) == [(How.REPLACED, ("winograd",), ("gemm", "transform"))]


def test_other_shapes_at_the_same_place_are_the_same_work(make):
    base = [make.operation("aten::mm", 1.0, shapes="float[8,8]", path="aten::linear")]
    head = [make.operation("aten::mm", 2.0, shapes="double[8,8]", path="aten::linear")]

    assert hows(base, head) == [(How.RATE, ("aten::mm",), ("aten::mm",))]


def test_an_operation_that_moved_is_the_same_work(make):
    base = [make.operation("aten::copy_", 1.0, path="a")]
    head = [make.operation("aten::copy_", 1.0, path="b")]

    assert hows(base, head) == [(How.RATE, ("aten::copy_",), ("aten::copy_",))]


def test_what_came_and_went_inside_one_operation_replaces_it(make):
    base = [make.operation("conv_fused", 1.0, path="layer")]
    head = [make.operation("im2col", 1.0, path="layer"), make.operation("gemm", 1.0, path="layer")]

    assert hows(base, head) == [(How.REPLACED, ("conv_fused",), ("im2col", "gemm"))]


def test_what_has_no_counterpart_is_new_or_gone(make):
    base, head = [make.operation("aten::tanh", 1.0)], [make.operation("aten::item", 1.0)]

    assert hows(base, head) == [
        (How.GONE, ("aten::tanh",), ()),
        (How.NEW, (), ("aten::item",)),
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
        (How.REPLACED, ("aten::_flash_attention_forward",), ("aten::bmm", "aten::_softmax"))
    ]


def test_a_fused_attention_that_is_won_is_matched_with_its_parts(make):
    fused, parts = fused_and_parts(make)

    assert hows(parts, fused)[1:] == [
        (How.REPLACED, ("aten::bmm", "aten::_softmax"), ("aten::_flash_attention_forward",))
    ]


def test_torchs_own_fallback_inside_the_fused_operator_is_parts(make):
    where = "aten::scaled_dot_product_attention"
    base = [make.operation("aten::_scaled_dot_product_flash_attention_for_cpu", 1.0, path=where)]
    head = [
        make.operation("aten::mul", 1.0, path=f"{where}/aten::_scaled_dot_product_attention_math")
    ]

    assert [how for how, _, _ in hows(base, head)] == [How.REPLACED]


@pytest.mark.parametrize(
    ("name", "normal"),
    [
        ("aten::add_", "aten::add_"),
        ("fusion.12", "fusion"),
        ("loop_add_fusion_3", "loop_add_fusion"),
        ("void gemm<float, pair<4, 8>>(int)", "void gemm(int)"),
        ("triton_poi_fused_add_0a1b2c3d4e", "triton_poi_fused_add"),
        ("callback at 0x7f00dead", "callback at "),
        ("<lambda>", "<lambda>"),
    ],
)
def test_names_are_compared_without_what_compilers_number(name, normal):
    assert normal_name(name) == normal


@pytest.mark.parametrize(
    ("base", "head", "how"),
    [
        ((10.0, 10.0), (20.0, 20.0), How.COUNT),
        ((10.0, 10.0), (20.0, 10.0), How.RATE),
        ((10.0, 10.0), (30.0, 15.0), How.RATE),
        ((10.0, 10.0), (16.0, 15.0), How.COUNT),
        ((10.0, 0.0), (16.0, 15.0), How.RATE),
    ],
)
def test_the_larger_of_count_and_rate_names_the_change(make, base, head, how):
    change = Change(base=(make.operation("a", *base),), head=(make.operation("a", *head),))

    assert change.how is how


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

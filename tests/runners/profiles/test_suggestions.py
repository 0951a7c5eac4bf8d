import pytest

from perfledger_profiles.breakdown import OUTSIDE
from perfledger_profiles.diff import explain
from perfledger_profiles.suggestions import ATTENTION, COMPILE, COPIES, FLOAT64, READ_BACK


def advice(base, head):
    return {cause.name: cause.suggestion for cause in explain(base, head).causes}


def test_compiling_in_the_step_is_advised_against(make):
    base = make.profile(make.operation("dot", 10e-3))
    head = make.profile(make.operation("dot", 10e-3), make.operation("(compiling) f", 90e-3))

    assert advice(base, head) == {"(compiling) f": COMPILE}


def test_a_lost_fused_attention_is_advised_back(make):
    base = make.profile(
        make.operation("aten::_scaled_dot_product_flash_attention_for_cpu", 5e-3, 4.0)
    )
    head = make.profile(
        make.operation("aten::bmm", 6e-3, 8.0, path="aten::matmul"),
        make.operation("aten::_softmax", 4e-3, 4.0, path="aten::softmax"),
    )

    assert advice(base, head) == {"aten::bmm (+1)": ATTENTION}


def test_a_fused_attention_lost_in_one_layer_of_several_is_seen_too(make):
    fused = "aten::_flash_attention_forward"
    base = make.profile(make.operation(fused, 4e-3, 4.0))
    head = make.profile(make.operation(fused, 3e-3, 3.0), make.operation("aten::bmm", 6e-3, 2.0))

    assert advice(base, head) == {"aten::bmm": ATTENTION}


def test_new_float64_is_advised_against(make):
    base = make.profile(make.operation("aten::mm", 5e-3, shapes="float[8,8]", path="p"))
    head = make.profile(make.operation("aten::mm", 9e-3, shapes="double[8,8]", path="p"))

    assert advice(base, head) == {"aten::mm": FLOAT64}


def test_float64_that_was_there_before_is_not_mentioned(make):
    base = make.profile(make.operation("aten::mm", 5e-3, shapes="double[8,8]", path="p"))
    head = make.profile(make.operation("aten::mm", 9e-3, shapes="double[8,8]", path="p"))

    assert advice(base, head) == {"aten::mm": ""}


@pytest.mark.parametrize(
    "name", ["aten::item", "aten::_local_scalar_dense", "cudaStreamSynchronize"]
)
def test_values_read_back_more_often_are_advised_against(make, name):
    base = make.profile(make.operation("aten::mm", 5e-3), make.operation(name, 1e-5, 1.0))
    head = make.profile(make.operation("aten::mm", 5e-3), make.operation(name, 4e-3, 64.0))

    assert advice(base, head) == {name: READ_BACK}


def test_the_loop_around_the_values_that_are_read_back_is_the_same_matter(make):
    base = make.profile(make.operation("aten::mm", 5e-3))
    head = make.profile(
        make.operation("aten::mm", 5e-3),
        make.operation(OUTSIDE, 4e-3, 0.0),
        make.operation("aten::item", 1e-6, 64.0),
    )

    assert advice(base, head) == {OUTSIDE: READ_BACK}


def test_copies_that_are_made_more_often_are_advised_against(make):
    base = make.profile(make.operation("aten::copy_", 1e-3, 1.0))
    head = make.profile(make.operation("aten::copy_", 8e-3, 8.0))

    assert advice(base, head) == {"aten::copy_": COPIES}


def test_slower_calls_without_evidence_get_no_advice(make):
    for name in ("aten::copy_", "aten::item", "(compiling) f", OUTSIDE, "aten::bmm"):
        base = make.profile(make.operation(name, 1e-3, 1.0))
        head = make.profile(make.operation(name, 2e-3, 1.0))

        assert advice(base, head) == {name: ""}


def test_what_got_faster_needs_no_advice(make):
    base = make.profile(make.operation("(compiling) f", 9e-3, 1.0))
    head = make.profile(make.operation("(compiling) f", 1e-3, 2.0))

    assert advice(base, head) == {"(compiling) f": ""}

"""Tests the formulas that torch lacks, and the rule for operators without one, without torch."""

from types import SimpleNamespace

import pytest

from perfledger.meters.torch_formulas import missing_formulas, needs_formula, operator_name

QUERY, KEY, VALUE = (2, 8, 48, 16), (2, 4, 32, 16), (2, 4, 32, 24)
SCORES = 2 * 8 * 48 * 32


def operator(name, *tags):
    namespace, _, own = name.partition(".")
    return SimpleNamespace(
        namespace=namespace, _opname=own, tags=[SimpleNamespace(name=tag) for tag in tags]
    )


@pytest.fixture
def aten():
    """Torch's operators, by name."""
    names = (
        "_scaled_dot_product_flash_attention_for_cpu",
        "_scaled_dot_product_flash_attention_for_cpu_backward",
        "_scaled_dot_product_flash_attention",
        "mv",
        "addbmm",
    )
    return SimpleNamespace(**{name: name for name in names})


def test_heads_that_share_keys_count_for_each_query_head(aten):
    formulas = missing_formulas(aten, {})

    forward = formulas["_scaled_dot_product_flash_attention_for_cpu"]
    backward = formulas["_scaled_dot_product_flash_attention_for_cpu_backward"]
    assert forward(QUERY, KEY, VALUE, 0.0, True, out_shape=()) == 2 * SCORES * (16 + 24)
    gradient = (2, 8, 48, 24)
    assert backward(gradient, QUERY, KEY, VALUE, (), (), 0.0, False) == 2 * SCORES * (
        3 * 16 + 2 * 24
    )


def test_only_what_torch_lacks_gets_a_formula(aten):
    formulas = missing_formulas(aten, {"_scaled_dot_product_flash_attention": len, "mv": len})

    assert set(formulas) == {
        "_scaled_dot_product_flash_attention_for_cpu",
        "_scaled_dot_product_flash_attention_for_cpu_backward",
        "addbmm",
    }
    assert formulas["addbmm"]((4, 6), (3, 4, 5), (3, 5, 6)) == 2 * 3 * 4 * 5 * 6


@pytest.mark.parametrize(
    ("name", "tags", "is_needed"),
    [
        ("aten._cudnn_attention_forward", (), True),
        ("aten._cudnn_rnn", (), True),
        ("aten.linalg_lu_factor_ex", (), True),
        ("aten.slow_conv_transpose2d", (), True),
        ("aten._grouped_mm", (), True),
        ("aten._pdist_forward", (), True),
        ("aten.mm", (), False),  # has a formula
        ("aten._softmax", (), False),
        ("aten.native_layer_norm", (), False),
        ("aten.linalg_vector_norm", ("reduction",), False),
        ("aten.upsample_trilinear3d", (), False),
        ("aten._foreach_add", (), False),
        ("flash_attn._flash_attn_forward", (), True),
        ("mine.gelu", ("pointwise",), False),
        ("mine.norm", ("reduction", "core"), False),
        ("profiler._record_function_enter_new", (), False),
        ("_c10d_functional.all_reduce", (), False),
    ],
)
def test_which_operators_need_a_formula(name, tags, is_needed):
    assert operator_name(operator(name)) == name
    assert needs_formula(operator(name, *tags), {"aten.mm"}) is is_needed

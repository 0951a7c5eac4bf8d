"""Names of variants: what they stand for, and what is wrong with others."""

import pytest

from perfledger.records import Framework
from perfledger.registration.variant_name import (
    MAX_VARIANTS,
    Variant,
    VariantKind,
    VariantNameError,
    parse_variant,
    variants_fault,
)

NAMES = [
    "eager",
    "compile",
    "compile:reduce-overhead",
    "compile:max-autotune",
    "cudagraphs",
    "aotinductor",
    "onnxruntime",
    "tensorrt",
    "triton-server",
    "jit",
    "jit:donate",
    "jit:donate+xla_gpu_autotune_level=0+xla_cpu_enable_fast_math=True",
]


@pytest.mark.parametrize("name", NAMES)
def test_a_name_is_read_and_written_alike(name):
    assert parse_variant(name).name == name


def test_options_follow_the_kind():
    assert parse_variant("jit:donate+xla_a=1") == Variant(VariantKind.JIT, ("donate", "xla_a=1"))


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("compiled", "is not one of eager, compile"),
        ("", "is not one of"),
        ("compile:", "mode is not one of"),
        ("compile:default", "mode is not one of"),
        ("compile:max-autotune+reduce-overhead", "mode is not one of"),
        ("eager:fast", "has no options"),
        ("cudagraphs:1", "has no options"),
        ("jit:remat", "is a parameter"),
        ("jit:xla_flag", "is neither 'donate' nor a flag"),
        ("jit:xla_flag=a,b", "is neither"),
        ("jit:donate+donate", "repeated"),
        ("jit:xla_a=1+xla_a=2", "repeated"),
        ("jit:--xla_a=1", "is neither"),
    ],
)
def test_another_name_is_refused_with_what_would_be_right(name, what):
    with pytest.raises(VariantNameError, match=what):
        parse_variant(name)


def test_each_kind_is_of_one_framework_and_eager_of_any():
    frameworks = {kind: kind.framework for kind in VariantKind}

    assert frameworks.pop(VariantKind.EAGER) is None
    assert frameworks.pop(VariantKind.JIT) is Framework.JAX
    assert set(frameworks.values()) == {Framework.TORCH}


@pytest.mark.parametrize(
    ("names", "what"),
    [
        (["eager", "eager"], "each only once"),
        ([f"jit:xla_a={n}" for n in range(MAX_VARIANTS + 1)], "give at most 20"),
        ([3], "is not a name"),
        (["jit:xla_a=" + "1" * 300], "of at most 200 letters"),
        (["eager", "fast"], "'fast' is not one of"),
    ],
)
def test_a_list_of_variants_is_checked(names, what):
    assert what in variants_fault(names)


def test_no_variants_and_known_ones_are_fine():
    assert variants_fault([]) == variants_fault(NAMES) == ""

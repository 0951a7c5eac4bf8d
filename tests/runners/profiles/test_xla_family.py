import pytest

from perfledger.profile import Bucket, Family
from perfledger_profiles.xla_family import instruction_family, runs_on_matrix_unit


@pytest.mark.parametrize(
    ("name", "facts", "family"),
    [
        ("broadcast_add_fusion", {"hlo_category": "loop fusion"}, Family.ELEMENTWISE),
        ("fusion.7", {"hlo_category": "loop fusion"}, Family.ELEMENTWISE),
        ("fusion.7", {"tf_op": "jit(f)/jit(main)/dot_general:"}, Family.GEMM),
        (
            "convolution.3",
            {"hlo_category": "convolution fusion", "tf_op": "jit(f)/dot_general:"},
            Family.GEMM,
        ),
        ("fusion.2", {"hlo_category": "convolution fusion"}, Family.CONVOLUTION),
        ("fusion.2", {"tf_op": "jit(f)/conv_general_dilated:Conv"}, Family.CONVOLUTION),
        ("convert_fusion", {}, Family.ELEMENTWISE),
        ("fusion.2", {}, Family.FUSION),
        ("input_reduce_fusion_1", {}, Family.REDUCTION),
        ("reduce-window.1", {}, Family.POOLING),
        ("sm90_xmma_gemm_f16f16_f16f32_f32_tn_n_tilesize128x128x64", {}, Family.GEMM),
        ("void cutlass::Kernel<cutlass_80_wgrad>", {}, Family.CONVOLUTION),
        ("flash_fwd_kernel", {}, Family.ATTENTION),
        ("gather.9", {}, Family.EMBEDDING),
        ("sort.1", {}, Family.SORTING),
        ("dot.1", {}, Family.GEMM),
        ("softmax_kernel", {}, Family.NORMALIZATION),
        ("transpose.3", {}, Family.COPY),
        ("while.2", {}, Family.OTHER),
    ],
)
def test_what_it_was_made_for_then_its_name_then_its_category_tell(name, facts, family):
    assert instruction_family(name, Bucket.COMPUTE, facts) is family


@pytest.mark.parametrize(
    ("bucket", "family"),
    [
        (Bucket.COMMUNICATION, Family.COMMUNICATION),
        (Bucket.COPY, Family.COPY),
        (Bucket.MEMSET, Family.MEMSET),
    ],
)
def test_what_moves_data_is_told_by_its_bucket(bucket, family):
    assert instruction_family("fusion.3", bucket, {}) is family


@pytest.mark.parametrize(
    ("family", "category", "expected"),
    [
        (Family.GEMM, "convolution fusion", True),
        (Family.OTHER, "convolution fusion", True),
        (Family.ELEMENTWISE, "loop fusion", False),
        (Family.GEMM, "custom-call", None),
        (Family.GEMM, "", None),
    ],
)
def test_the_matrix_unit_computes_products(family, category, expected):
    assert runs_on_matrix_unit(family, {"hlo_category": category}) is expected

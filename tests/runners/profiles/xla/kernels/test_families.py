import pytest

from perfledger.profile import Bucket, OperationFamily
from perfledger_profiles.xla.kernels import instruction_family, runs_on_matrix_unit


@pytest.mark.parametrize(
    ("name", "facts", "family"),
    [
        ("broadcast_add_fusion", {"hlo_category": "loop fusion"}, OperationFamily.ELEMENTWISE),
        ("fusion.7", {"hlo_category": "loop fusion"}, OperationFamily.ELEMENTWISE),
        ("fusion.7", {"tf_op": "jit(f)/jit(main)/dot_general:"}, OperationFamily.GEMM),
        (
            "convolution.3",
            {"hlo_category": "convolution fusion", "tf_op": "jit(f)/dot_general:"},
            OperationFamily.GEMM,
        ),
        ("fusion.2", {"hlo_category": "convolution fusion"}, OperationFamily.CONVOLUTION),
        ("fusion.2", {"tf_op": "jit(f)/conv_general_dilated:Conv"}, OperationFamily.CONVOLUTION),
        ("convert_fusion", {}, OperationFamily.ELEMENTWISE),
        ("fusion.2", {}, OperationFamily.FUSION),
        ("input_reduce_fusion_1", {}, OperationFamily.REDUCTION),
        ("reduce-window.1", {}, OperationFamily.POOLING),
        ("sm90_xmma_gemm_f16f16_f16f32_f32_tn_n_tilesize128x128x64", {}, OperationFamily.GEMM),
        ("void cutlass::Kernel<cutlass_80_wgrad>", {}, OperationFamily.CONVOLUTION),
        ("flash_fwd_kernel", {}, OperationFamily.ATTENTION),
        ("gather.9", {}, OperationFamily.EMBEDDING),
        ("sort.1", {}, OperationFamily.SORTING),
        ("dot.1", {}, OperationFamily.GEMM),
        ("softmax_kernel", {}, OperationFamily.NORMALIZATION),
        ("transpose.3", {}, OperationFamily.COPY),
        ("while.2", {}, OperationFamily.OTHER),
    ],
)
def test_what_it_was_made_for_then_its_name_then_its_category_tell(name, facts, family):
    assert instruction_family(name, Bucket.COMPUTE, facts) is family


@pytest.mark.parametrize(
    ("bucket", "family"),
    [
        (Bucket.COMMUNICATION, OperationFamily.COMMUNICATION),
        (Bucket.COPY, OperationFamily.COPY),
        (Bucket.MEMSET, OperationFamily.MEMSET),
    ],
)
def test_what_moves_data_is_told_by_its_bucket(bucket, family):
    assert instruction_family("fusion.3", bucket, {}) is family


@pytest.mark.parametrize(
    ("family", "category", "expected"),
    [
        (OperationFamily.GEMM, "convolution fusion", True),
        (OperationFamily.OTHER, "convolution fusion", True),
        (OperationFamily.ELEMENTWISE, "loop fusion", False),
        (OperationFamily.GEMM, "custom-call", None),
        (OperationFamily.GEMM, "", None),
    ],
)
def test_the_matrix_unit_computes_products(family, category, expected):
    assert runs_on_matrix_unit(family, {"hlo_category": category}) is expected

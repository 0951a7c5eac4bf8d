"""Turn what XLA says of an operation or a kernel into the family of work that it does."""

import re

from perfledger.profile import Bucket, Family
from perfledger_profiles.planes import Stats

# What jax and TensorFlow call the operation that an instruction was made for: the last part of
# "jit(f)/jit(main)/dot_general:".
_SOURCES = {
    "dot_general": Family.GEMM,
    "einsum": Family.GEMM,
    "matmul": Family.GEMM,
    "batchmatmulv2": Family.GEMM,
    "conv_general_dilated": Family.CONVOLUTION,
    "conv2d": Family.CONVOLUTION,
    "gather": Family.EMBEDDING,
    "sort": Family.SORTING,
    "top_k": Family.SORTING,
}
# By name: kernels of cuBLAS, cuDNN, CUTLASS, Triton and XLA's own emitters; HLO instructions and
# their categories. The first that fits.
_ELEMENTWISE = r"loop|wrapped_|elementwise|(?<![a-z])(add|multiply|select|convert|broadcast)"
_NAMES = tuple(
    (re.compile(rf"(?i){pattern}"), family)
    for pattern, family in (
        (r"attention|fmha|flash|mha_", Family.ATTENTION),
        (r"reduce[-_]window|select[-_]and[-_]scatter|pool", Family.POOLING),
        (r"winograd|[dw]grad|fprop|convolution|(?<![a-z])conv(?!ert)", Family.CONVOLUTION),
        (r"gemm|matmul|cublas|cutlass|nvjet|xmma|(?<![a-z])dot(?![a-z])", Family.GEMM),
        (r"softmax|(?<![a-z])(layer|batch|rms|group)_?norm", Family.NORMALIZATION),
        (r"gather|scatter|embedding", Family.EMBEDDING),
        (r"sort|top_?k", Family.SORTING),
        (r"reduce|reduction|argm(ax|in)", Family.REDUCTION),
        (r"(?<![a-z])(copy|transpose)(?![a-z])", Family.COPY),
        (_ELEMENTWISE, Family.ELEMENTWISE),
        (r"fusion|fused", Family.FUSION),
    )
)
_MATRIX_FAMILIES = (Family.GEMM, Family.CONVOLUTION)
# Runs code that XLA does not see into.
_OPAQUE = "custom-call"


def family_of(name: str, bucket: Bucket, facts: Stats) -> Family:
    """Return the family of an operation, by its bucket, what it was made for, its category, name.

    On a TPU a matrix product is a convolution to the compiler, so that what it was made for goes
    before its category.
    """
    match bucket:
        case Bucket.COMMUNICATION:
            return Family.COMMUNICATION
        case Bucket.COPY:
            return Family.COPY
        case Bucket.MEMSET:
            return Family.MEMSET
        case _:
            pass
    source = str(facts.get("tf_op", "")).rstrip(":").rpartition("/")[2].partition(":")[0]
    known = _SOURCES.get(source.lower())
    if known is not None:
        return known
    texts = (name, str(facts.get("hlo_category", "")), str(facts.get("hlo_op", "")))
    found = (family for text in texts for pattern, family in _NAMES if pattern.search(text))
    return next((family for family in found if family is not Family.FUSION), _rest(texts))


def runs_on_matrix_unit(family: Family, facts: Stats) -> bool | None:
    """Return whether a TPU computes the operation on its matrix unit; None where XLA cannot see."""
    category = str(facts.get("hlo_category", ""))
    if not category or _OPAQUE in category:
        return None
    return "convolution" in category or family in _MATRIX_FAMILIES


def _rest(texts: tuple[str, ...]) -> Family:
    return Family.FUSION if any("fus" in text for text in texts) else Family.OTHER

"""Turn what XLA says of an operation or a kernel into the family of work that it does."""

import re

from perfledger.profile import Bucket, Family
from perfledger_profiles.family import family_of
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
# What the compiler puts around the names of what it fused or wrapped: "wrapped_add.2",
# "input_reduce_fusion_1".
_WRAPPING = re.compile(r"^wrapped_|(?<=.)_fusion(?=[._\d]*$)")
_MATRIX_FAMILIES = (Family.GEMM, Family.CONVOLUTION)
# Runs code that XLA does not see into.
_OPAQUE = "custom-call"


def instruction_family(name: str, bucket: Bucket, facts: Stats) -> Family:
    """Return the family of an operation: by its bucket, what it was made for, its name, category.

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
    found = (family_of(_WRAPPING.sub("", text)) for text in texts)
    told = (family for family in found if family not in (Family.FUSION, Family.OTHER))
    return next(told, _rest(texts))


def runs_on_matrix_unit(family: Family, facts: Stats) -> bool | None:
    """Return whether a TPU computes the operation on its matrix unit; None where XLA cannot see."""
    category = str(facts.get("hlo_category", ""))
    if not category or _OPAQUE in category:
        return None
    return "convolution" in category or family in _MATRIX_FAMILIES


def _rest(texts: tuple[str, ...]) -> Family:
    return Family.FUSION if any("fus" in text for text in texts) else Family.OTHER

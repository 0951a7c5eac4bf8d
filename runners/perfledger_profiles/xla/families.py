"""Classifies XLA's operations and kernels into families of work."""

import re

from perfledger.profile import Bucket, OperationFamily
from perfledger_profiles.parsing.operation_family import family_of
from perfledger_profiles.xla.planes import Stats

# The source operation of an instruction in jax and TensorFlow, which is the last part of
# "jit(f)/jit(main)/dot_general:".
_SOURCES = {
    "dot_general": OperationFamily.GEMM,
    "einsum": OperationFamily.GEMM,
    "matmul": OperationFamily.GEMM,
    "batchmatmulv2": OperationFamily.GEMM,
    "conv_general_dilated": OperationFamily.CONVOLUTION,
    "conv2d": OperationFamily.CONVOLUTION,
    "gather": OperationFamily.EMBEDDING,
    "sort": OperationFamily.SORTING,
    "top_k": OperationFamily.SORTING,
}
# What the compiler adds to the names of fused or wrapped operations: "wrapped_add.2",
# "input_reduce_fusion_1".
_WRAPPING = re.compile(r"^wrapped_|(?<=.)_fusion(?=[._\d]*$)")
_MATRIX_FAMILIES = (OperationFamily.GEMM, OperationFamily.CONVOLUTION)
# Runs code that XLA cannot analyse.
_OPAQUE = "custom-call"


def instruction_family(name: str, bucket: Bucket, facts: Stats) -> OperationFamily:
    """Return the family of an operation by its bucket, source operation, name or category.

    The TPU compiler treats a matrix product as a convolution, so the source operation comes before
    the category.
    """
    match bucket:
        case Bucket.COMMUNICATION:
            return OperationFamily.COMMUNICATION
        case Bucket.COPY:
            return OperationFamily.COPY
        case Bucket.MEMSET:
            return OperationFamily.MEMSET
        case _:
            pass
    source = str(facts.get("tf_op", "")).rstrip(":").rpartition("/")[2].partition(":")[0]
    source_family = _SOURCES.get(source.lower())
    if source_family is not None:
        return source_family
    texts = (name, str(facts.get("hlo_category", "")), str(facts.get("hlo_op", "")))
    families = (family_of(_WRAPPING.sub("", text)) for text in texts)
    known_families = (
        family
        for family in families
        if family not in (OperationFamily.FUSION, OperationFamily.OTHER)
    )
    return next(known_families, _rest(texts))


def runs_on_matrix_unit(family: OperationFamily, facts: Stats) -> bool | None:
    """Return whether a TPU computes the operation on its matrix unit; None where XLA cannot say."""
    category = str(facts.get("hlo_category", ""))
    if not category or _OPAQUE in category:
        return None
    return "convolution" in category or family in _MATRIX_FAMILIES


def _rest(texts: tuple[str, ...]) -> OperationFamily:
    return OperationFamily.FUSION if any("fus" in text for text in texts) else OperationFamily.OTHER

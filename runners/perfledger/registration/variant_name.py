"""Parses the names of variants: what the step of a workload is transformed into."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from perfledger.records import Framework

VARIANT_PARAMETER = "variant"  # of an id: module:function[variant=compile]
MAX_VARIANTS = 20  # of one workload: each is measured like a separate workload
MAX_VARIANT_LENGTH = 200  # because it is part of an id
OPTION_MARK = ":"  # between a kind and its options
NEXT_OPTION = "+"
DONATE = "donate"


class VariantKind(StrEnum):
    """A way of transforming a step."""

    EAGER = "eager"  # no transformation: the step as written
    COMPILE = "compile"  # torch.compile
    CUDAGRAPHS = "cudagraphs"  # a CUDA graph of the whole step
    AOTINDUCTOR = "aotinductor"  # torch.export, compiled ahead of time
    ONNXRUNTIME = "onnxruntime"
    TENSORRT = "tensorrt"  # torch_tensorrt
    TRITON_SERVER = "triton-server"  # NVIDIA's inference server
    JIT = "jit"  # jax.jit

    @property
    def framework(self) -> Framework | None:
        """Return the framework whose steps it transforms; None: any."""
        match self:
            case VariantKind.EAGER:
                return None
            case VariantKind.JIT:
                return Framework.JAX
            case _:
                return Framework.TORCH


class CompileMode(StrEnum):
    """A mode of torch.compile; the default mode has no name."""

    REDUCE_OVERHEAD = "reduce-overhead"
    MAX_AUTOTUNE = "max-autotune"
    MAX_AUTOTUNE_NO_CUDAGRAPHS = "max-autotune-no-cudagraphs"


_XLA_FLAG = re.compile(r"xla_[a-z0-9_]+=[A-Za-z0-9_.-]+")


@dataclass(frozen=True, slots=True)
class Variant:
    """A kind with its options: a mode of torch.compile, or flags of jax.jit."""

    kind: VariantKind
    options: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Return the name as users write it: "compile:max-autotune"."""
        options = NEXT_OPTION.join(self.options)
        return f"{self.kind}{OPTION_MARK}{options}" if options else str(self.kind)


class VariantNameError(Exception):
    """The error of a name that is not a variant's."""


def parse_variant(name: str) -> Variant:
    """Return the variant of this name. Raises VariantNameError."""
    kind, mark, rest = name.partition(OPTION_MARK)
    if kind not in tuple(VariantKind):
        msg = f"variant {name[:80]!r} is not one of {', '.join(VariantKind)}"
        raise VariantNameError(msg)
    options = tuple(rest.split(NEXT_OPTION)) if mark else ()
    variant = Variant(VariantKind(kind), options)
    if fault := _options_fault(variant):
        msg = f"variant {name[:80]!r}: {fault}"
        raise VariantNameError(msg)
    return variant


def variants_fault(names: Sequence[object]) -> str:
    """Return what is wrong with the variants of a workload, "" if nothing is."""
    if len(names) > MAX_VARIANTS or len(set(map(str, names))) < len(names):
        return f"it has {len(names)} variants: give at most {MAX_VARIANTS}, each only once"
    for name in names:
        if not isinstance(name, str) or len(name) > MAX_VARIANT_LENGTH:
            return f"variant {name!r:.80} is not a name of at most {MAX_VARIANT_LENGTH} letters"
        try:
            parse_variant(name)
        except VariantNameError as error:
            return str(error)
    return ""


def _options_fault(variant: Variant) -> str:
    match variant.kind:
        case _ if not variant.options:
            return ""
        case VariantKind.COMPILE:
            is_mode = len(variant.options) == 1 and variant.options[0] in tuple(CompileMode)
            return "" if is_mode else f"its mode is not one of {', '.join(CompileMode)}"
        case VariantKind.JIT:
            return _jit_options_fault(variant.options)
        case _:
            return "it has no options"


def _jit_options_fault(options: Sequence[str]) -> str:
    names = [option.partition("=")[0] for option in options]
    if len(set(names)) < len(names):
        return "an option is repeated"
    for option in options:
        if option != DONATE and not _XLA_FLAG.fullmatch(option):
            return (
                f"{option[:80]!r} is neither {DONATE!r} nor a flag such as xla_cpu_enable_fast_math"
                "=True; what changes the function itself, such as jax.checkpoint, is a parameter"
            )
    return ""

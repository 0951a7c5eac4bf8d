"""Compiles a step with torch.compile, and finds which parts of it run as written."""

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec

from perfledger.records import Device
from perfledger.registration.variant_name import CompileMode, Variant
from perfledger.variants.transformed_step import (
    Foreign,
    FunctionCall,
    TransformedStep,
    require_cxx,
    unavailable,
)

DYNAMO, DYNAMO_UTILS = "torch._dynamo.config", "torch._dynamo.utils"
GRAPH_BREAK, RECOMPILE_LIMIT = "graph_break", "recompile limit"
# Attributes that torch sets on compiled functions and modules; the last one by `module.compile()`.
COMPILED_FROM = ("_torchdynamo_orig_callable", "_orig_mod", "_compiled_call_impl")
NOT_COMPILED = "_torchdynamo_disable"  # set by torch.compiler.disable
MAX_REASON = 200  # characters of why a graph breaks
CUDA_GRAPH_MODES = (CompileMode.REDUCE_OVERHEAD, CompileMode.MAX_AUTOTUNE)


@dataclass(frozen=True, slots=True, kw_only=True)
class CompileCounts:
    """What torch.compile has counted so far in this process."""

    graphs: int
    breaks: Mapping[str, int]  # why a graph ended before the function did
    graph_skips: int  # programs that it ran without a CUDA graph
    limits_hit: int = 0  # functions recompiled too often, no longer compiled

    def since(self, before: "CompileCounts") -> "CompileCounts":
        """Return what was counted after `before`."""
        new = {why: count - before.breaks.get(why, 0) for why, count in self.breaks.items()}
        return CompileCounts(
            graphs=self.graphs - before.graphs,
            breaks={why: count for why, count in new.items() if count > 0},
            graph_skips=self.graph_skips - before.graph_skips,
            limits_hit=self.limits_hit - before.limits_hit,
        )


def compiled_step(
    torch: Foreign, variant: Variant, call: FunctionCall, device: Device
) -> TransformedStep:
    """Return the step with its function compiled when it is first called.

    Earlier compilations are dropped: otherwise a new set-up of the same code would count as a
    recompilation, and torch allows eight. Raises UnmeasurableError if torch.compile would do
    nothing.
    """
    name, mode = variant.name, next(iter(variant.options), None)
    if mode == CompileMode.REDUCE_OVERHEAD and device is not Device.CUDA:
        reason = "is torch.compile with CUDA graphs, which need a CUDA device"
        raise unavailable(name, reason, "measure it on one; on others, 'compile' is the same")
    if device is Device.CUDA:
        if find_spec("triton") is None:
            raise unavailable(name, "needs triton", "install the CUDA build of torch with it")
    else:
        require_cxx(name, os.environ)
    torch.compiler.reset()
    compiled = FunctionCall(torch.compile(call.function, mode=mode), call.inputs)
    _refuse_fallback(name, sys.modules.get(DYNAMO))
    already = compiled_as_written(call.function)
    before = read_counts(sys.modules.get(DYNAMO_UTILS))

    def verify() -> tuple[str, ...]:
        counts = read_counts(sys.modules.get(DYNAMO_UTILS)).since(before)
        return (*compile_remarks(variant, counts, device), *already)

    return TransformedStep(step=compiled.__call__, verify=verify)


def read_counts(dynamo_utils: Foreign) -> CompileCounts:
    """Return the counts of torch._dynamo.utils; zeros while it is not imported."""
    counters: Mapping[str, Mapping[str, int]] = getattr(dynamo_utils, "counters", {})
    return CompileCounts(
        graphs=counters.get("stats", {}).get("unique_graphs", 0),
        breaks=dict(counters.get(GRAPH_BREAK, {})),
        graph_skips=counters.get("inductor", {}).get("cudagraph_skips", 0),
        limits_hit=sum(
            count
            for why, count in counters.get("unimplemented", {}).items()
            if RECOMPILE_LIMIT in why.lower()
        ),
    )


def compiled_as_written(function: object) -> tuple[str, ...]:
    """Return a remark if the step as written, or a module in it, is compiled already."""
    modules: Foreign = getattr(function, "modules", None)
    parts: Foreign = modules() if callable(modules) else ()
    if not any(map(_is_compiled, (function, *parts))):
        return ()
    return ("the function is already compiled as written: both may run the same code",)


def _is_compiled(part: object) -> bool:
    return not getattr(part, NOT_COMPILED, False) and any(
        getattr(part, name, None) is not None for name in COMPILED_FROM
    )


def compile_remarks(variant: Variant, counts: CompileCounts, device: Device) -> tuple[str, ...]:
    """Return which parts of the step are not compiled. Raises UnmeasurableError if none is."""
    name = variant.name
    if counts.graphs <= 0:
        reason = "compiled nothing of the step, which ran as written"
        advice = "let the function call torch operators that torch.compile can trace"
        raise unavailable(name, reason, advice)
    if counts.limits_hit > 0:
        reason = "recompiled the function up to torch's limit, and then ran it as written"
        advice = "leave what changes from step to step, such as counters, out of the function"
        raise unavailable(name, reason, advice)
    remarks: list[str] = []
    breaks = sum(counts.breaks.values())
    if breaks > 0:
        why = next(iter(counts.breaks)).partition("\n")[0][:MAX_REASON]
        remarks.append(
            f"compiled in {_plural(counts.graphs, 'part')} with {_plural(breaks, 'graph break')}, "
            f"between which it runs as written: {why}"
        )
    if set(variant.options) & set(CUDA_GRAPH_MODES) and counts.graph_skips > 0:
        if device is Device.CUDA and counts.graph_skips >= counts.graphs:
            reason = f"ran all it compiled ({_plural(counts.graphs, 'part')}) without CUDA graphs"
            advice = "TORCH_LOGS=perf_hints says why; a CPU tensor among the inputs is one reason"
            raise unavailable(name, reason, advice)
        remarks.append(f"{_plural(counts.graph_skips, 'compiled part')} without CUDA graphs")
    return tuple(remarks)


def _plural(count: int, noun: str) -> str:
    return f"{count} {noun}{'s' * (count != 1)}"


def _refuse_fallback(name: str, config: Foreign) -> None:
    """Raise UnmeasurableError if torch is set to run as written what it cannot compile."""
    for setting in ("disable", "suppress_errors"):
        if getattr(config, setting, False):
            reason = f"may do nothing, because torch._dynamo.config.{setting} is set"
            raise unavailable(name, reason, "unset it, and TORCHDYNAMO_* in the environment")

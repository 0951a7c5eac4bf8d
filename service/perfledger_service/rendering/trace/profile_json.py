"""Turns profiles and their explanations into records for JSON: SI units, None for unknown.

Keys are only ever added; they are documented in docs/reference/profiler-files.md.
"""

from collections.abc import Mapping, Sequence

from perfledger.profile import DeviceStep, Profile
from perfledger_profiles.bottleneck.classification import Classification
from perfledger_profiles.diff.cause import (
    CompileExplanation,
    MemoryExplanation,
    StepTimeExplanation,
)
from perfledger_profiles.hardware.roofline import Roofline
from perfledger_service.rendering.layout.document import attributes, field_names
from perfledger_service.rendering.trace.device_rows import slowest_device
from perfledger_service.values.trace_views import TraceDiffView, TraceView

Record = Mapping[str, object]

# Fields and properties, in the order of the JSON.
_BUCKET_CHANGE = ("bucket", "base_seconds", "head_seconds", "delta_seconds", "noise_seconds")
_CAUSE = (
    *("name", "base_name", "kind", "base_seconds", "head_seconds", "delta_seconds", "base_count"),
    *("head_count", "suggestion", "bucket", "path", "reason", "evidence", "lines", "base_lines"),
    *("count_effect_seconds", "rate_effect_seconds", "error_seconds", "reverted_step_seconds"),
)
_MEMORY_CAUSE = (
    *("name", "base_tensor", "head_tensor", "base_bytes", "head_bytes", "delta_bytes"),
    *("base_count", "head_count", "lines", "base_lines"),
)
_PHASE = ("phase", "base_seconds", "head_seconds", "delta_seconds")
_COMPILE_CAUSE = (
    *("name", "base_count", "head_count", "base_seconds", "head_seconds", "delta_seconds"),
    *("reason", "lines"),
)
_SHARE = ("bottleneck", "share", "ceiling", "is_high", "is_moderate", "is_estimate")


def trace_diff_record(view: TraceDiffView) -> Record:
    """Return the differences between two traces, without the profiles."""
    return {
        "base": view.base.name,
        "head": view.head.name,
        "is_same_device": view.is_same_device,
        "iteration_kernels": view.iteration_kernels,
        "explanation": explanation_record(view.explanation),
        "recommendations": view.head.recommendations,
    }


def trace_record(view: TraceView) -> Record:
    """Return a trace's profile, its classification and the recommendations."""
    return {
        "name": view.name,
        "profile": _profile(view.profile),
        "classification": classification_record(view.classification),
        "recommendations": view.recommendations,
        "roof": roof_record(view.roof),
        "caveats": view.caveats,
        **_device_record(view.profile.devices),
    }


def _device_record(devices: Sequence[DeviceStep]) -> Record:
    """Return the slowest of several devices, and how much their steps differ; None for one."""
    if not devices:
        return {"slowest_device": None, "device_spread_seconds": None}
    steps = [device.step_seconds for device in devices]
    return {
        "slowest_device": slowest_device(devices).name,
        "device_spread_seconds": max(steps) - min(steps),
    }


def explanation_record(explanation: StepTimeExplanation) -> Record:
    """Return why a workload's step time changed."""
    return {
        **attributes(explanation, "workload", "base_step_seconds", "head_step_seconds"),
        **attributes(explanation, "rest_seconds", "is_attributable", "note"),
        "causes": [attributes(one, *_CAUSE) for one in explanation.causes],
        "buckets": [attributes(one, *_BUCKET_CHANGE) for one in explanation.buckets],
        **attributes(explanation, "residual_seconds", "noise_seconds"),
        **attributes(explanation, "base_device", "head_device"),
        "base_bottleneck": classification_record(explanation.base_bottleneck),
        "head_bottleneck": classification_record(explanation.head_bottleneck),
        "utilization_note": explanation.utilization_note,
        "compilations": explanation.compilations,
        "memory": _memory_record(explanation.memory),
        "compiling": _compile_record(explanation.compiling),
        "reproduction": explanation.reproduction,
    }


def _memory_record(explanation: MemoryExplanation | None) -> Record | None:
    """Return why peak memory changed; None if it did not."""
    if explanation is None:
        return None
    return {
        **attributes(explanation, "base_bytes", "head_bytes", "base_held_bytes"),
        **attributes(explanation, "head_held_bytes", "rest_bytes", "is_attributable", "note"),
        "causes": [attributes(one, *_MEMORY_CAUSE) for one in explanation.causes],
    }


def _compile_record(explanation: CompileExplanation | None) -> Record | None:
    """Return what takes longer to compile; None if neither cold start nor compile time changed."""
    if explanation is None:
        return None
    return {
        **attributes(explanation, "base_seconds", "head_seconds", "delta_seconds"),
        "phases": [attributes(one, *_PHASE) for one in explanation.phases],
        "causes": [attributes(one, *_COMPILE_CAUSE) for one in explanation.causes],
    }


def classification_record(classification: Classification | None) -> Record | None:
    """Return the bottleneck of a step, with all its shares; None if unknown."""
    if classification is None:
        return None
    return {
        **attributes(classification, "primary", "detail", "confidence", "is_estimate", "secondary"),
        "shares": [attributes(one, *_SHARE) for one in classification.shares],
        "reasons": classification.reasons,
    }


def roof_record(roof: Roofline | None) -> Record | None:
    """Return the roofs and the points below them; `step` is the point of all kernels combined."""
    if roof is None:
        return None
    return {
        **attributes(roof, "device", "dtype"),
        **attributes(roof.ceilings, "peak_flops_per_second", "peak_bytes_per_second"),
        "ridge_flop_per_byte": roof.ceilings.ridge_flop_per_byte,
        **attributes(roof, "points", "step"),
        "covered": roof.covered_share,
    }


def _profile(profile: Profile) -> Record:
    """Return the fields of the profile, and the sums of the buckets."""
    return attributes(profile, *field_names(Profile)) | {"buckets": profile.bucket_seconds()}

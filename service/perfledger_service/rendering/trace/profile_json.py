"""Converts profiles and their explanations into JSON values: SI units, null for unknown.

Keys are only ever added; what each holds is in docs/profiler-files.md.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import cast

from perfledger.profile import Profile
from perfledger_profiles.bottleneck.classification import Classification, Recommendation
from perfledger_profiles.diff.cause import BucketChange, Cause, StepTimeExplanation
from perfledger_profiles.hardware.device_state import DeviceState
from perfledger_profiles.hardware.roofline import Roofline
from perfledger_service.values.trace_views import TraceDiffView, TraceView

Json = Mapping[str, object]


def trace_diff_record(view: TraceDiffView) -> Json:
    """Return what changed between two traces, without the profiles."""
    return {
        "base": view.base.name,
        "head": view.head.name,
        "is_same_device": view.is_same_device,
        "explanation": explanation_document(view.explanation),
        "recommendations": recommendation_documents(view.head.recommendations),
    }


def trace_record(view: TraceView) -> dict[str, object]:
    """Return a trace's profile, its classification and what is recommended."""
    return {
        "name": view.name,
        "profile": _profile(view.profile),
        "classification": classification_document(view.classification),
        "recommendations": recommendation_documents(view.recommendations),
        "roof": None if view.roof is None else roof_document(view.roof),
        "caveats": list(view.caveats),
    }


def explanation_document(explanation: StepTimeExplanation) -> Json:
    """Return why a workload's step time changed."""
    return {
        "workload": explanation.workload,
        "base_step_seconds": number(explanation.base_step_seconds),
        "head_step_seconds": number(explanation.head_step_seconds),
        "rest_seconds": number(explanation.rest_seconds),
        "is_attributable": explanation.is_attributable,
        "note": explanation.note,
        "causes": [_cause(cause) for cause in explanation.causes],
        "buckets": [_bucket_change(change) for change in explanation.buckets],
        "residual_seconds": number(explanation.residual_seconds),
        "noise_seconds": number(explanation.noise_seconds),
        "base_device": _device(explanation.base_device),
        "head_device": _device(explanation.head_device),
        "base_bottleneck": classification_document(explanation.base_bottleneck),
        "head_bottleneck": classification_document(explanation.head_bottleneck),
        "reproduction": explanation.reproduction,
    }


def classification_document(classification: Classification | None) -> Json | None:
    """Return what a step is bound by, with all its shares; null where that is not known."""
    if classification is None:
        return None
    return {
        "primary": str(classification.primary),
        "detail": str(classification.detail),
        "confidence": str(classification.confidence),
        "is_estimate": classification.is_estimate,
        "secondary": [str(one) for one in classification.secondary],
        "shares": [
            {
                "bottleneck": str(one.bottleneck),
                "share": number(one.share),
                "ceiling": number(one.ceiling),
                "is_high": one.is_high,
                "is_moderate": one.is_moderate,
            }
            for one in classification.shares
        ],
        "reasons": list(classification.reasons),
    }


def recommendation_documents(recommendations: Sequence[Recommendation]) -> list[Json]:
    """Return what to do, with its evidence and what it could bring."""
    return [
        {
            "text": one.text,
            "trigger": one.trigger,
            "share": number(one.share),
            "step_seconds": number(one.step_seconds),
        }
        for one in recommendations
    ]


def number(value: float | None) -> float | None:
    """Return a number that JSON has, or None."""
    return value if value is not None and math.isfinite(value) else None


def _cause(cause: Cause) -> Json:
    return {
        "name": cause.name,
        "base_name": cause.base_name,
        "kind": str(cause.kind),
        "base_seconds": number(cause.base_seconds),
        "head_seconds": number(cause.head_seconds),
        "delta_seconds": number(cause.delta_seconds),
        "base_count": number(cause.base_count),
        "head_count": number(cause.head_count),
        "suggestion": cause.suggestion,
        "bucket": str(cause.bucket),
        "path": cause.path,
        "reason": str(cause.reason),
        "evidence": cause.evidence,
        "count_effect_seconds": number(cause.count_effect_seconds),
        "rate_effect_seconds": number(cause.rate_effect_seconds),
        "reverted_step_seconds": number(cause.reverted_step_seconds),
    }


def _bucket_change(change: BucketChange) -> Json:
    return {
        "bucket": str(change.bucket),
        "base_seconds": number(change.base_seconds),
        "head_seconds": number(change.head_seconds),
        "delta_seconds": number(change.delta_seconds),
        "noise_seconds": number(change.noise_seconds),
    }


def _device(state: DeviceState | None) -> Json | None:
    """Return at what clock a device ran; null where that is not known."""
    if state is None:
        return None
    return {"clock_hertz": number(state.clock_hertz), "slowed_by": list(state.slowed_by)}


def _profile(profile: Profile) -> object:
    """Return the profile under its own names, and the buckets' sums beside them."""
    document = asdict(profile)
    document["buckets"] = {
        str(bucket): seconds for bucket, seconds in profile.bucket_seconds().items()
    }
    return _finite(document)


def roof_document(roof: Roofline) -> object:
    """Return the roofs and the points below them; `step` is that of all the points together."""
    return _finite(
        {
            "device": roof.device,
            "dtype": roof.dtype,
            **asdict(roof.ceilings),
            "ridge_flop_per_byte": roof.ceilings.ridge_flop_per_byte,
            "points": [asdict(point) for point in roof.points],
            "step": None if roof.step is None else asdict(roof.step),
            "covered": roof.covered_share,
        }
    )


def _finite(value: object) -> object:
    """Return a value with null in place of every number that JSON does not have."""
    match value:
        case float():
            return number(value)
        case dict():
            fields = cast("dict[str, object]", value)
            return {name: _finite(item) for name, item in fields.items()}
        case list() | tuple():
            return [_finite(item) for item in cast("Sequence[object]", value)]
        case _:
            return value

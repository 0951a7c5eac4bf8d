"""Presents a step's throughput, MFU and other efficiency metrics."""

from perfledger_profiles.hardware.step_metrics import StepMetric
from perfledger_service.rendering.layout import number_format
from perfledger_service.rendering.layout.document import (
    Column,
    Document,
    TextStyle,
    attributes,
    display,
    fact,
    notes,
    sentences,
    table,
    title,
    words,
)
from perfledger_service.rendering.layout.escape import clean_sentence
from perfledger_service.values.trace_views import StepMetricsView

_LABELS = {
    "throughput": "throughput",
    "achieved_flops": "achieved",
    "mfu": "MFU",
    "hfu": "HFU",
    "perf_per_watt": "work per joule",
    "scaling_eff_weak": "weak scaling efficiency",
    "scaling_eff_strong": "strong scaling efficiency",
}


_NOTHING = "For more figures, give --units-per-step, --model-flops or the shape of a transformer."


def step_metrics_document(view: StepMetricsView) -> Document:
    """Return the metrics with their formulas, in SI units for programs."""
    return Document(
        name="perfledger-step-metrics",
        facts={
            **attributes(view, "step_seconds", "source", "devices"),
            "device": view.device or None,
            **attributes(view, "dtype", "peak_flops_per_second", "notes"),
        },
        blocks=(
            title(_title(view), names=[view.source]),
            table(_columns(), view.figures, key="figures"),
            *sentences([] if view.figures else [_NOTHING]),
            *notes(clean_sentence(note) for note in view.notes),
        ),
    )


def _columns() -> tuple[Column[StepMetric], ...]:
    return (
        fact("name", lambda metric: metric.name),
        words("", "metric", lambda metric: _LABELS[metric.name]),
        display("value", _value, style=TextStyle.STRONG),
        fact("value", lambda metric: metric.value),
        fact("unit", lambda metric: metric.unit),
        words("formula", "formula", lambda metric: metric.formula),
    )


def _title(view: StepMetricsView) -> str:
    step = f"a step of {number_format.seconds(view.step_seconds)} ({view.source})"
    if view.peak_flops_per_second is None:
        return step
    peak = number_format.flops_per_second(view.peak_flops_per_second)
    return f"{step} on {view.devices} x {view.device}, {peak} each in {view.dtype} (dense)"


def _value(figure: StepMetric) -> str:
    match figure.unit:
        case "FLOP/s":
            return number_format.flops_per_second(figure.value)
        case "1":
            return number_format.share(figure.value)
        case unit:
            return f"{number_format.count(figure.value)}{number_format.NBSP}{unit}"

"""Computes a step's metrics from its time, work and energy, each with its formula."""

from collections.abc import Iterator
from dataclasses import dataclass

from perfledger_profiles.hardware.efficiency_metrics import (
    achieved_flops_per_second,
    hfu,
    items_per_joule,
    mfu,
    strong_scaling_efficiency,
    throughput,
    transformer_flops_per_token,
    weak_scaling_efficiency,
)

PALM_SOURCE = "PaLM, arXiv 2204.02311, appendix B"
RECOMPUTATION_SOURCE = "Korthikanti et al. 2022, arXiv 2205.05198"


@dataclass(frozen=True, slots=True, kw_only=True)
class TransformerShape:
    """The shape of a transformer; `parameters` exclude embeddings."""

    parameters: float
    layers: int
    heads: int
    head_size: int
    context: int  # tokens that attend to each other
    is_forward_only: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class StepFacts:
    """The facts of a step over all devices; unknown is None."""

    seconds: float
    devices: int = 1
    items: float | None = None  # units of work a step: tokens, samples
    model_flops: float | None = None  # without recomputation
    recomputed_flops: float = 0.0
    joules: float | None = None
    alone_seconds: float | None = None  # the step on one device
    is_work_split: bool = False  # strong scaling: the devices share one device's work


@dataclass(frozen=True, slots=True, kw_only=True)
class StepMetric:
    """One metric of a step, and its formula with its source."""

    name: str
    value: float
    unit: str
    formula: str


def transformer_flops(shape: TransformerShape, *, tokens: float) -> float:
    """Return the model FLOPs of this many tokens. Raises MetricError."""
    return tokens * transformer_flops_per_token(
        parameters=shape.parameters,
        layers=shape.layers,
        heads=shape.heads,
        head_size=shape.head_size,
        sequence_length=shape.context,
        is_forward_only=shape.is_forward_only,
    )


def step_metrics(
    facts: StepFacts, *, peak_flops_per_second: float | None
) -> tuple[StepMetric, ...]:
    """Return every metric that the facts allow. Raises MetricError.

    The peak is one device's, dense, for the type that the model computes in.
    """
    return (
        *_speed_metrics(facts),
        *_utilization(facts, peak_flops_per_second),
        *_efficiency(facts),
    )


def _speed_metrics(facts: StepFacts) -> Iterator[StepMetric]:
    if facts.items is not None:
        value = throughput(items_per_step=facts.items, step_seconds=facts.seconds)
        yield StepMetric(name="throughput", value=value, unit="1/s", formula="items / step time")
    if facts.model_flops is not None:
        yield StepMetric(
            name="achieved_flops",
            value=achieved_flops_per_second(flops=facts.model_flops, seconds=facts.seconds),
            unit="FLOP/s",
            formula="model FLOPs / step time",
        )


def _utilization(facts: StepFacts, peak: float | None) -> Iterator[StepMetric]:
    if facts.model_flops is None or peak is None:
        return
    yield StepMetric(
        name="mfu",
        value=mfu(
            model_flops_per_step=facts.model_flops,
            step_seconds=facts.seconds,
            peak_flops_per_second=peak,
            devices=facts.devices,
        ),
        unit="1",
        formula=f"model FLOP/s / (devices x dense peak) ({PALM_SOURCE})",
    )
    if facts.recomputed_flops:
        yield StepMetric(
            name="hfu",
            value=hfu(
                model_flops_per_step=facts.model_flops,
                recomputed_flops_per_step=facts.recomputed_flops,
                step_seconds=facts.seconds,
                peak_flops_per_second=peak,
                devices=facts.devices,
            ),
            unit="1",
            formula=f"as MFU, with recomputed FLOPs ({RECOMPUTATION_SOURCE})",
        )


def _efficiency(facts: StepFacts) -> Iterator[StepMetric]:
    if facts.joules is not None and facts.items is not None:
        yield StepMetric(
            name="perf_per_watt",
            value=items_per_joule(items_per_step=facts.items, joules_per_step=facts.joules),
            unit="1/J",
            formula="items per step / joules per step",
        )
    if facts.alone_seconds is None:
        return
    if facts.is_work_split:
        yield StepMetric(
            name="scaling_eff_strong",
            value=strong_scaling_efficiency(
                one_seconds=facts.alone_seconds, many_seconds=facts.seconds, devices=facts.devices
            ),
            unit="1",
            formula="T1 / (n Tn)",
        )
    else:
        yield StepMetric(
            name="scaling_eff_weak",
            value=weak_scaling_efficiency(
                one_items_per_second=throughput(items_per_step=1, step_seconds=facts.alone_seconds),
                many_items_per_second=throughput(
                    items_per_step=facts.devices, step_seconds=facts.seconds
                ),
                devices=facts.devices,
            ),
            unit="1",
            formula="Xn / (n X1), the same batch on each device",
        )

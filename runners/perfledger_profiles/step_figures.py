"""A step's time and what it computes, makes and takes into its figures, each with its formula."""

from collections.abc import Iterator
from dataclasses import dataclass

from perfledger_profiles.metrics import (
    achieved_flops_per_second,
    hfu,
    items_per_joule,
    mfu,
    strong_scaling_efficiency,
    throughput,
    transformer_flops_per_token,
    weak_scaling_efficiency,
)

PALM = "PaLM, arXiv 2204.02311, appendix B"
RECOMPUTED = "Korthikanti et al. 2022, arXiv 2205.05198"


@dataclass(frozen=True, slots=True, kw_only=True)
class Transformer:
    """The shape of a transformer; `parameters` are without embeddings."""

    parameters: float
    layers: int
    heads: int
    head_size: int
    context: int  # tokens that attend to each other
    is_forward_only: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class StepFacts:
    """What is known of a step of all devices together; unknown is None."""

    seconds: float
    devices: int = 1
    items: float | None = None  # units of work a step: tokens, samples
    model_flops: float | None = None  # without what is computed a second time
    recomputed_flops: float = 0.0
    joules: float | None = None
    alone_seconds: float | None = None  # the step on one device
    is_work_split: bool = False  # the devices share one device's work: strong scaling


@dataclass(frozen=True, slots=True, kw_only=True)
class StepFigure:
    """One figure of a step, and where its formula is from."""

    name: str
    value: float
    unit: str
    formula: str


def transformer_flops(shape: Transformer, *, tokens: float) -> float:
    """Return the model FLOPs of so many tokens; raises MetricError."""
    return tokens * transformer_flops_per_token(
        parameters=shape.parameters,
        layers=shape.layers,
        heads=shape.heads,
        head_size=shape.head_size,
        sequence_length=shape.context,
        is_forward_only=shape.is_forward_only,
    )


def step_figures(
    facts: StepFacts, *, peak_flops_per_second: float | None
) -> tuple[StepFigure, ...]:
    """Return every figure that the facts allow, and no other; raises MetricError.

    The peak is one device's, dense, of the type that is computed in.
    """
    return (*_speed(facts), *_utilization(facts, peak_flops_per_second), *_efficiency(facts))


def _speed(facts: StepFacts) -> Iterator[StepFigure]:
    if facts.items is not None:
        value = throughput(items_per_step=facts.items, step_seconds=facts.seconds)
        yield StepFigure(name="throughput", value=value, unit="1/s", formula="items / step time")
    if facts.model_flops is not None:
        yield StepFigure(
            name="achieved_flops",
            value=achieved_flops_per_second(flops=facts.model_flops, seconds=facts.seconds),
            unit="FLOP/s",
            formula="model FLOPs / step time",
        )


def _utilization(facts: StepFacts, peak: float | None) -> Iterator[StepFigure]:
    if facts.model_flops is None or peak is None:
        return
    yield StepFigure(
        name="mfu",
        value=mfu(
            model_flops_per_step=facts.model_flops,
            step_seconds=facts.seconds,
            peak_flops_per_second=peak,
            devices=facts.devices,
        ),
        unit="1",
        formula=f"model FLOP/s / (devices x dense peak) ({PALM})",
    )
    if facts.recomputed_flops:
        yield StepFigure(
            name="hfu",
            value=hfu(
                model_flops_per_step=facts.model_flops,
                recomputed_flops_per_step=facts.recomputed_flops,
                step_seconds=facts.seconds,
                peak_flops_per_second=peak,
                devices=facts.devices,
            ),
            unit="1",
            formula=f"as MFU, with what is computed a second time ({RECOMPUTED})",
        )


def _efficiency(facts: StepFacts) -> Iterator[StepFigure]:
    if facts.joules is not None and facts.items is not None:
        yield StepFigure(
            name="perf_per_watt",
            value=items_per_joule(items_per_step=facts.items, joules_per_step=facts.joules),
            unit="1/J",
            formula="items per step / joules per step",
        )
    if facts.alone_seconds is None:
        return
    if facts.is_work_split:
        yield StepFigure(
            name="scaling_eff_strong",
            value=strong_scaling_efficiency(
                one_seconds=facts.alone_seconds,
                many_seconds=facts.seconds,
                devices=facts.devices,
            ),
            unit="1",
            formula="T1 / (n Tn)",
        )
    else:
        yield StepFigure(
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

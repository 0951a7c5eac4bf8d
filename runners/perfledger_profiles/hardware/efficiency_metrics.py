"""Holds the formulas of efficiency metrics: MFU, HFU, throughput, intensity, energy, scaling."""

from math import isfinite

from perfledger.rounding import typed

# Over a shorter time, the granularity of the device's energy counter is a notable part of the
# value.
MIN_ENERGY_SECONDS = 2.0


class MetricError(ValueError):
    """An input that a metric cannot be computed from: which one, and what it must be."""


def transformer_flops_per_token(
    *,
    parameters: float,
    layers: int,
    heads: int,
    head_size: int,
    sequence_length: int,
    is_forward_only: bool = False,
) -> float:
    """Return a transformer's model FLOPs per token: 6N + 12LHQT, forward only 2N + 4LHQT.

    N parameters (without embeddings), L layers, H heads of size Q, T tokens of context. Attention
    is counted without a causal mask; recomputation is not counted (PaLM, arXiv 2204.02311, appendix
    B). Raises MetricError.
    """
    _check_positive(parameters=parameters)
    _check_not_negative(
        layers=layers, heads=heads, head_size=head_size, sequence_length=sequence_length
    )
    attention = layers * heads * head_size * sequence_length
    return 2 * parameters + 4 * attention if is_forward_only else 6 * parameters + 12 * attention


def mfu(
    *,
    model_flops_per_step: float,
    step_seconds: float,
    peak_flops_per_second: float,
    devices: int = 1,
) -> float:
    """Return the model FLOPs utilization: the model's FLOP/s over the devices' dense peak.

    Equal to observed tokens/s over the tokens/s at the peak (PaLM, arXiv 2204.02311, appendix B).
    `model_flops_per_step` covers all devices and excludes recomputation; the peak is one device's,
    dense, for the type that the model computes in. Raises MetricError.
    """
    _check_not_negative(model_flops_per_step=model_flops_per_step)
    _check_positive(
        step_seconds=step_seconds, peak_flops_per_second=peak_flops_per_second, devices=devices
    )
    return model_flops_per_step / step_seconds / (peak_flops_per_second * devices)


def hfu(
    *,
    model_flops_per_step: float,
    recomputed_flops_per_step: float,
    step_seconds: float,
    peak_flops_per_second: float,
    devices: int = 1,
) -> float:
    """Return the hardware FLOPs utilization: as `mfu`, with recomputed FLOPs included.

    Never below `mfu` (Korthikanti et al. 2022, arXiv 2205.05198). Raises MetricError.
    """
    _check_not_negative(recomputed_flops_per_step=recomputed_flops_per_step)
    return mfu(
        model_flops_per_step=model_flops_per_step + recomputed_flops_per_step,
        step_seconds=step_seconds,
        peak_flops_per_second=peak_flops_per_second,
        devices=devices,
    )


def throughput(*, items_per_step: float, step_seconds: float) -> float:
    """Return units of work per second. Raises MetricError."""
    _check_not_negative(items_per_step=items_per_step)
    _check_positive(step_seconds=step_seconds)
    return items_per_step / step_seconds


def achieved_flops_per_second(*, flops: float, seconds: float) -> float:
    """Return FLOPs per second of a kernel or a step. Raises MetricError."""
    _check_not_negative(flops=flops)
    _check_positive(seconds=seconds)
    return flops / seconds


def arithmetic_intensity(*, flops: float, bytes_moved: float) -> float:
    """Return FLOP per byte moved to and from the device's memory.

    Computed from the sizes of inputs and outputs it is an upper bound (Williams,
    Waterman and Patterson 2009, "Roofline"). Raises MetricError.
    """
    _check_not_negative(flops=flops)
    _check_positive(bytes_moved=bytes_moved)
    return flops / bytes_moved


def roofline_attained(
    *,
    flops_per_second: float,
    intensity_flop_per_byte: float,
    peak_flops_per_second: float,
    peak_bytes_per_second: float,
) -> float:
    """Return the attained share of min(P, AI x BW), the roof at this intensity.

    Above 1, an input is wrong: the peak's type, or bytes that caches served (Williams, Waterman and
    Patterson 2009, "Roofline"). Raises MetricError.
    """
    _check_not_negative(flops_per_second=flops_per_second)
    _check_positive(
        intensity_flop_per_byte=intensity_flop_per_byte,
        peak_flops_per_second=peak_flops_per_second,
        peak_bytes_per_second=peak_bytes_per_second,
    )
    roof = min(peak_flops_per_second, intensity_flop_per_byte * peak_bytes_per_second)
    return flops_per_second / roof


def energy_per_step_joules(joules: float, *, steps: float, seconds: float) -> float:
    """Return the energy of one step from that of `steps`, by a device's counter.

    The readings may lie within steps, so `steps` may be fractional. Raises MetricError, also if
    they span less than MIN_ENERGY_SECONDS.
    """
    _check_not_negative(joules=joules)
    _check_positive(steps=steps, seconds=seconds)
    if seconds < MIN_ENERGY_SECONDS:
        least = typed(MIN_ENERGY_SECONDS)
        msg = f"energy over {typed(seconds)} s is noise: measure at least {least} s"
        raise MetricError(msg)
    return joules / steps


def items_per_joule(*, items_per_step: float, joules_per_step: float) -> float:
    """Return units of work per joule, which is performance per watt. Raises MetricError."""
    _check_not_negative(items_per_step=items_per_step)
    _check_positive(joules_per_step=joules_per_step)
    return items_per_step / joules_per_step


def weak_scaling_efficiency(
    *, one_items_per_second: float, many_items_per_second: float, devices: int
) -> float:
    """Return X_n / (n X_1): throughput per device over that of one device, same batch on each.

    Raises MetricError.
    """
    _check_not_negative(many_items_per_second=many_items_per_second)
    _check_positive(one_items_per_second=one_items_per_second, devices=devices)
    return many_items_per_second / (devices * one_items_per_second)


def strong_scaling_efficiency(*, one_seconds: float, many_seconds: float, devices: int) -> float:
    """Return T_1 / (n T_n): the speed-up of the same work per device.

    Raises MetricError.
    """
    _check_positive(one_seconds=one_seconds, many_seconds=many_seconds, devices=devices)
    return one_seconds / (devices * many_seconds)


def _check_positive(**inputs: float) -> None:
    for name, value in inputs.items():
        if not (isfinite(value) and value > 0):
            msg = f"{name} is {value}: it must be a number above 0"
            raise MetricError(msg)


def _check_not_negative(**inputs: float) -> None:
    for name, value in inputs.items():
        if not (isfinite(value) and value >= 0):
            msg = f"{name} is {value}: it must be a number of at least 0"
            raise MetricError(msg)

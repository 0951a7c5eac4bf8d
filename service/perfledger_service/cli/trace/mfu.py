"""Computes the efficiency of a step."""

from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from perfledger.rounding import for_programs
from perfledger_service.cli.command import command
from perfledger_service.cli.option_groups import argument, how, what
from perfledger_service.cli.option_values import refuse_unused
from perfledger_service.cli.output import DocumentOutput
from perfledger_service.errors import UsageError

if TYPE_CHECKING:  # this would make every help slow
    from perfledger_profiles.hardware.step_metrics import StepFacts, TransformerShape


@dataclass(frozen=True, slots=True, kw_only=True)
class TransformerFlags:
    """The shape of a transformer, which determines its model FLOPs."""

    parameters: Annotated[
        float | None,
        what("parameters of a transformer without embeddings, such as 7e9", metavar="COUNT"),
    ] = None
    layers: Annotated[int, what("layers of a transformer", metavar="COUNT", minimum=0)] = 0
    heads: Annotated[
        int, what("attention heads per layer of a transformer", metavar="COUNT", minimum=0)
    ] = 0
    head_size: Annotated[
        int, what("size of an attention head of a transformer", metavar="SIZE", minimum=0)
    ] = 0
    context_length: Annotated[
        int, what("tokens in the context of a transformer", metavar="TOKENS", minimum=0)
    ] = 0
    forward_only: Annotated[bool, what("the step has no backward pass", flag="--forward-only")] = (
        False
    )

    @property
    def shape(self) -> "TransformerShape | None":
        """Return the shape, None without parameters; raises UsageError."""
        from perfledger_profiles.hardware.step_metrics import TransformerShape

        if self.parameters is not None:
            return TransformerShape(
                parameters=self.parameters,
                layers=self.layers,
                heads=self.heads,
                head_size=self.head_size,
                context=self.context_length,
                is_forward_only=self.forward_only,
            )
        if any((self.layers, self.heads, self.head_size, self.context_length, self.forward_only)):
            msg = (
                "--layers, --heads, --head-size, --context-length and --forward-only need "
                "--parameters"
            )
            raise UsageError(msg)
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class StepFlags:
    """Facts about the step besides its time."""

    devices: Annotated[int, what("devices that share the step", metavar="COUNT", minimum=1)] = 1
    units_per_step: Annotated[
        float | None, what("tokens or samples per step, all devices together", metavar="COUNT")
    ] = None
    model_flops: Annotated[
        float | None,
        what("FLOPs per step without recomputation, all devices together", metavar="FLOPS"),
    ] = None
    recomputed_flops: Annotated[
        float, what("recomputed FLOPs per step, for HFU", metavar="FLOPS", minimum=0)
    ] = 0.0
    energy_joules: Annotated[
        float | None, what("energy per step, all devices together", metavar="JOULES")
    ] = None
    one_device_seconds: Annotated[
        float | None,
        what("the step's time on one device, with the same batch per device", metavar="SECONDS"),
    ] = None
    strong_scaling: Annotated[
        bool, what("--one-device-seconds is for the whole batch", flag="--strong-scaling")
    ] = False

    def facts(self, seconds: float, *, model_flops: float | None) -> "StepFacts":
        """Return the facts about a step of this duration."""
        from perfledger_profiles.hardware.step_metrics import StepFacts

        return StepFacts(
            seconds=seconds,
            devices=self.devices,
            items=self.units_per_step,
            model_flops=model_flops,
            recomputed_flops=self.recomputed_flops,
            joules=self.energy_joules,
            alone_seconds=self.one_device_seconds,
            is_work_split=self.strong_scaling,
        )


@command(
    examples=(
        "perfledger trace mfu trace.json --units-per-step 8192 --parameters 7e9",
        (
            "perfledger trace mfu --step-seconds 0.31 --accelerator h100-sxm5-80gb "
            "--model-flops 1.2e14"
        ),
    )
)
def mfu(
    file: Annotated[
        Path | None,
        argument("a profiler file with steps, for the step's time and device", metavar="FILE"),
    ] = None,
    *,
    step_seconds: Annotated[
        float | None, what("seconds per step, instead of a file", metavar="SECONDS")
    ] = None,
    accelerator: Annotated[
        str, what("the accelerator, such as h100-sxm5-80gb, or its full name", metavar="NAME")
    ] = "",
    step: StepFlags,
    transformer: TransformerFlags,
    dtype: Annotated[str, how("data type of the computation", metavar="TYPE")] = "bfloat16",
    clock_mhz: Annotated[
        float | None, how("the clock during the step, if a power limit lowers it", metavar="MHZ")
    ] = None,
    output: DocumentOutput,
) -> None:
    """Compute MFU, HFU, FLOP/s, work per joule and scaling efficiency of a step.

    A transformer's FLOPs per token are 6N + 12LHQT, forward only 2N + 4LHQT (PaLM, appendix B).
    Peaks are dense, from the hardware table. Figures whose inputs are missing are left out.
    """
    from perfledger_profiles.parsing.units import MEGA
    from perfledger_service.rendering.trace.mfu import step_metrics_document
    from perfledger_service.usecases.trace.mfu import compute_step_metrics, model_flops

    is_alone = step.strong_scaling and step.one_device_seconds is None
    reason = "it says what --one-device-seconds is for: give that as well, or leave this out"
    refuse_unused({"--strong-scaling": is_alone}, reason)
    flops = model_flops(flops=step.model_flops, shape=transformer.shape, tokens=step.units_per_step)
    if clock_mhz is not None and not 0 < clock_mhz < inf:
        msg = f"--clock-mhz {for_programs(clock_mhz)} is not a clock rate: give a value above 0"
        raise UsageError(msg)
    metrics = compute_step_metrics(
        lambda seconds: step.facts(seconds, model_flops=flops),
        file=file,
        seconds=step_seconds,
        device=accelerator,
        dtype=dtype,
        clock_hz=None if clock_mhz is None else clock_mhz * MEGA,
    )
    output.write_document(metrics, step_metrics_document)

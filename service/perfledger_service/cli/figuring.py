"""The command that works a step's figures out: MFU, HFU, work per joule, scaling."""

from math import inf
from pathlib import Path
from typing import Annotated

import typer

from perfledger_profiles.step_figures import StepFacts, Transformer
from perfledger_service.cli.checking import Format, Formatted, Output
from perfledger_service.cli.showing import show_table, show_text
from perfledger_service.errors import UsageError
from perfledger_service.pages.figured import figures_json, figures_markdown, figures_text
from perfledger_service.usecases.figuring import figures_of, model_flops

HERTZ_PER_MHZ = 1e6


def mfu(
    file: Annotated[
        Path | None, typer.Argument(help="a profiler file with steps: its step's time and device")
    ] = None,
    *,
    step: Annotated[
        float | None, typer.Option(help="seconds of a step, in place of a file")
    ] = None,
    on: Annotated[str, typer.Option(help="the device, such as h100-sxm5-80gb, or its name")] = "",
    clock: Annotated[
        float | None,
        typer.Option(help="MHz it computed at, of a board that its power limit holds back"),
    ] = None,
    dtype: Annotated[str, typer.Option("--type", help="what is computed in")] = "bfloat16",
    devices: Annotated[int, typer.Option(min=1, help="that share the step")] = 1,
    items: Annotated[
        float | None, typer.Option(help="units of work (tokens, samples) a step, of all devices")
    ] = None,
    flops: Annotated[
        float | None, typer.Option(help="model FLOPs of a step, of all devices, no recomputation")
    ] = None,
    parameters: Annotated[
        float | None, typer.Option(help="of a transformer, without embeddings, such as 7e9")
    ] = None,
    layers: Annotated[int, typer.Option(min=0, help="of the transformer")] = 0,
    heads: Annotated[int, typer.Option(min=0, help="of attention in each layer")] = 0,
    head_size: Annotated[int, typer.Option(min=0, help="of a head of attention")] = 0,
    context: Annotated[int, typer.Option(min=0, help="tokens that attend to each other")] = 0,
    forward: Annotated[bool, typer.Option("--forward", help="no backward pass")] = False,
    recomputed: Annotated[
        float, typer.Option(min=0, help="FLOPs of a step that are computed a second time, for HFU")
    ] = 0.0,
    joules: Annotated[
        float | None, typer.Option(help="of a step, of all devices: energy_per_step of a check")
    ] = None,
    alone: Annotated[
        float | None,
        typer.Option(help="seconds of the step on one device, with the same batch a device"),
    ] = None,
    strong: Annotated[
        bool, typer.Option("--strong", help="--alone did the work that all devices share now")
    ] = False,
    form: Formatted = Format.TABLE,
    output: Output = None,
) -> None:
    """Work out MFU, HFU, achieved FLOP/s, work per joule and scaling efficiency of a step.

    A transformer's FLOPs a token are 6N + 12LHQT, forward 2N + 4LHQT (PaLM, appendix B); peaks are
    dense, from the hardware table. What was not given is left out, never guessed.
    """
    if parameters is None and any((layers, heads, head_size, context, forward)):
        msg = "--layers, --heads, --head-size, --context and --forward need --parameters"
        raise UsageError(msg)
    shape = (
        None
        if parameters is None
        else Transformer(
            parameters=parameters,
            layers=layers,
            heads=heads,
            head_size=head_size,
            context=context,
            is_forward_only=forward,
        )
    )
    worked = model_flops(flops=flops, shape=shape, tokens=items)

    def facts(seconds: float) -> StepFacts:
        return StepFacts(
            seconds=seconds,
            devices=devices,
            items=items,
            model_flops=worked,
            recomputed_flops=recomputed,
            joules=joules,
            alone_seconds=alone,
            is_work_split=strong,
        )

    if clock is not None and not 0 < clock < inf:
        msg = f"a clock of {clock:g} MHz is none: give --clock above 0"
        raise UsageError(msg)
    found = figures_of(
        facts,
        file=file,
        seconds=step,
        device=on,
        dtype=dtype,
        clock_hz=None if clock is None else clock * HERTZ_PER_MHZ,
    )
    match form:
        case Format.TABLE:
            show_table(figures_text(found), output)
        case Format.MARKDOWN:
            show_text(figures_markdown(found), output)
        case Format.JSON:
            show_text(figures_json(found), output)

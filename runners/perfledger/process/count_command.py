"""Counts what a step does: its work, and its calls of some functions."""

from contextlib import ExitStack
from dataclasses import asdict, replace

from perfledger.measuring.call_recorder import CallRecorder
from perfledger.meters.device import DeviceMeter
from perfledger.process.command_context import (
    BoundWorkload,
    CommandContext,
    Fields,
    meter_of,
    set_up_step,
    set_up_variant,
)
from perfledger.process.state import preserved_state
from perfledger.records import Device, Framework
from perfledger.step_work import StepWork
from perfledger.variants.remarks import (
    SEVERAL_RANKS,
    FirstResult,
    first_result,
    variant_remarks,
)
from perfledger.workload import PreparedStep, Step


def count_work(context: CommandContext, bound: BoundWorkload) -> Fields:
    """Return the work of a step, as the fields of a StepWork."""
    if context.link is not None:  # counting runs different numbers of steps on the ranks
        work = StepWork(limits=("the work of several ranks cannot be counted",))
        return asdict(
            replace(work, variant_remarks=(SEVERAL_RANKS,)) if bound.spec.variant else work
        )
    device, meter = meter_of(context, bound)
    with meter.device_context(), ExitStack() as teardowns:
        remarks = _remarks(context, bound, device, meter) if bound.spec.variant else ()
        # torch counts operators, and compiled code no longer calls them.
        counted = bound if bound.spec.framework is Framework.JAX else bound.as_written

        def set_up() -> Step:
            step = set_up_step(context, counted, device, meter, teardowns=teardowns)
            if isinstance(step, PreparedStep):
                step.prepare()
                return step.run
            return step

        return asdict(replace(meter.work(set_up), variant_remarks=remarks))


def count_calls(context: CommandContext, bound: BoundWorkload) -> Fields:
    """Return how many of the request's functions one step calls, which is not timed."""
    device, meter = meter_of(context, bound)
    recorder = CallRecorder(root=context.root, functions=context.request.functions)
    with meter.device_context(), ExitStack() as teardowns:
        step = set_up_step(context, bound.as_written, device, meter, teardowns=teardowns)
        if isinstance(step, PreparedStep):
            step.prepare()
            step = step.run
        with recorder.recording():
            step()
        context.channel.leave_if_forked()
    return {"functions": recorder.calls}


def _remarks(
    context: CommandContext, bound: BoundWorkload, device: Device, meter: DeviceMeter
) -> tuple[str, ...]:
    """Return what is known about a variant besides its speed; the process measures nothing."""

    def run(side: BoundWorkload) -> FirstResult:
        with preserved_state(), ExitStack() as teardowns:
            transformed = set_up_variant(context, side, device, meter, teardowns=teardowns)
            result = transformed.run()
            context.channel.leave_if_forked()
            return first_result(result, transformed.verify())

    return variant_remarks(
        lambda: run(bound.as_written),
        lambda: run(bound),
        tolerance=bound.workload.check_tolerance,
    )

"""Runs the load of one workload, and sends each point when it is done."""

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import asdict
from inspect import signature

from perfledger.failure_reason import UnmeasurableError
from perfledger.load import BATCH_PARAMETER, LoadResult
from perfledger.measuring.load_generator import LoadTimer, StepServer, Workers, run_load
from perfledger.measuring.timed_step import warm_up
from perfledger.meters.choice import choose_meter
from perfledger.meters.device import DeviceMeter
from perfledger.process.command_context import (
    BoundWorkload,
    CommandContext,
    Fields,
    set_up_variant,
)
from perfledger.process.message_channel import MessageChannel
from perfledger.protocol import ChildRequest, MessageType
from perfledger.records import Device, FailureReason, WorkloadSpec
from perfledger.variants.transformed_step import TransformedStep
from perfledger.workload import PreparedStep, Workload


def load_workload(context: CommandContext, bound: BoundWorkload) -> Fields:
    """Run the request's load of a workload; return the fields of its last message.

    Raises UnmeasurableError for several ranks, for a step that needs preparations, and where what
    ran was not the variant.
    """
    if context.link is not None:
        detail = "it runs in several ranks, and a load has a server in one process"
        raise UnmeasurableError(FailureReason.RAISED, detail)
    with ExitStack() as teardowns:

        def set_up(device: Device, meter: DeviceMeter) -> TransformedStep:
            transformed = set_up_variant(context, bound, device, meter, teardowns=teardowns)
            if not isinstance(transformed.step, PreparedStep):
                return transformed
            detail = "its step needs a preparation before each call, which a load has no time for"
            raise UnmeasurableError(FailureReason.RAISED, detail)

        return _run_points(
            context.request,
            context.channel,
            bound.spec,
            batch=_batch_size(bound.workload, bound.spec),
            set_up=set_up,
        )


def _run_points(
    request: ChildRequest,
    channel: MessageChannel,
    spec: WorkloadSpec,
    *,
    batch: int,
    set_up: Callable[[Device, DeviceMeter], TransformedStep],
) -> Mapping[str, object]:
    """Run the request's load point by point; return the fields of its last message."""
    device, _ = choose_meter(spec, requested=request.device)
    meters: list[DeviceMeter] = []
    steps: list[TransformedStep] = []

    def start_server() -> StepServer:
        """Set up one server on its own thread with its own clock."""
        _, meter = choose_meter(spec, requested=str(device))
        meters.append(meter)
        with meter.device_context():
            transformed = set_up(device, meter)
            step, after_step = transformed.run, channel.leave_if_forked
            warm_up(step, meter.clock, effort=request.effort, after_step=after_step)
            transformed.verify()
            steps.append(transformed)

        def run() -> None:
            meter.clock.time(step)
            after_step()

        return StepServer(run, meter.device_context)

    def report(served: LoadResult) -> None:
        peak_bytes = meters[0].peak_bytes()
        channel.send(
            MessageType.SERVED,
            {"workload": spec.id, "peak_bytes": peak_bytes, **_result_fields(served)},
        )

    with Workers(start_server, request.load.servers) as workers:
        channel.send(MessageType.SAMPLING, {"workload": spec.id})
        run_load(request.load, workers, LoadTimer(), report=report)
        for each in steps:
            each.verify()
    return {"batch": batch, "device": device, "devices": meters[0].devices()}


def _batch_size(workload: Workload, spec: WorkloadSpec) -> int:
    """Return the number of items per request, 1 without a batch parameter."""
    parameter = signature(workload.function).parameters.get(BATCH_PARAMETER)
    default: object = 1 if parameter is None else parameter.default
    batch = spec.params.get(BATCH_PARAMETER, default)
    if type(batch) is not int or batch < 1:
        msg = f"its parameter {BATCH_PARAMETER!r} is {batch!r:.100}: it must be an int above 0"
        raise TypeError(msg)
    return batch


def _result_fields(served: LoadResult) -> Mapping[str, object]:
    """Return the fields of a point, with times rounded to the clock's nanoseconds."""
    times = {
        "latencies_s": [round(each, 9) for each in served.latencies_s],
        "services_s": [round(each, 9) for each in served.services_s],
    }
    return {**asdict(served), **times}

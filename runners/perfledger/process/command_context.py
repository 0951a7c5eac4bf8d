"""Holds a request with its channel, and sets up the steps of its workloads."""

import sys
from contextlib import ExitStack
from dataclasses import dataclass
from inspect import iscoroutinefunction, isgeneratorfunction
from pathlib import Path

from perfledger.failure_reason import UnmeasurableError
from perfledger.meters.device_meter import DeviceMeter
from perfledger.process.loaded_packages import PackageRecorder
from perfledger.process.message_channel import MessageChannel
from perfledger.process.module_origin import misplaced_module
from perfledger.protocol import ChildRequest
from perfledger.records import Device, FailureReason, WorkloadSpec
from perfledger.workload import DEVICE_PARAMETER, Step, Workload


@dataclass(frozen=True, slots=True)
class BoundWorkload:
    """A workload at one point of its parameter grid."""

    workload: Workload
    spec: WorkloadSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandContext:
    """A request, the folders of its files, and the channel for answers."""

    request: ChildRequest
    channel: MessageChannel
    root: Path
    roots: tuple[Path, ...]
    recorder: PackageRecorder


def set_up_step(
    context: CommandContext,
    bound: BoundWorkload,
    device: Device,
    meter: DeviceMeter,
    *,
    teardowns: ExitStack,
) -> Step:
    """Call the workload's function, check that it is the right code, and return its step.

    The step's teardown is added to `teardowns`.
    """
    meter.reset_peak()
    device_argument = {DEVICE_PARAMETER: str(device)} if bound.workload.takes_device() else {}
    step: object = bound.workload.function(**bound.spec.params, **device_argument)
    context.channel.leave_if_forked()
    if not callable(step) or iscoroutinefunction(step) or isgeneratorfunction(step):
        msg = (
            f"{bound.workload.key} returned {step!r:.100}: return the step, a plain function "
            "without arguments that does its work when called"
        )
        raise TypeError(msg)
    if bound.workload.teardown is not None:
        teardowns.callback(bound.workload.teardown, step)
    wrong = misplaced_module(
        sys.modules, root=context.root, repository=Path(context.request.repository)
    )
    if wrong:
        raise UnmeasurableError(FailureReason.WRONG_CODE, wrong)
    return step

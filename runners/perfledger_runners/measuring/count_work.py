"""Counts the work of workloads' steps on both sides.

Nothing here can fail a check: workloads that cannot be counted are still measured.
"""

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace

import msgspec

from perfledger.protocol import ChildRequest, Command
from perfledger.records import Framework, Side, WorkloadSpec
from perfledger.step_work import NOT_COUNTED, Count, CountedWork, StepWork
from perfledger_runners.children.child_process import run_request
from perfledger_runners.children.harness import Harness
from perfledger_runners.children.protocol_parser import MAX_LIMITS, CountedMessage, FailedMessage
from perfledger_runners.measuring.both_sides import on_both_sides
from perfledger_runners.safe_text import MAX_DETAIL, clean_text

# Seconds for one set-up and compilation; a longer one is reported when it is measured.
MAX_COUNTING_SECONDS = 120.0
# Share of the remaining budget: counts only explain, and the pairs need the time.
COUNTING_SHARE = 0.25
# Share of the rest of that for one workload: one that hangs leaves time for others.
WORKLOAD_SHARE = 0.4
# Frameworks whose operators or programs can be counted.
FRAMEWORKS = (Framework.TORCH, Framework.JAX)


def count_both(
    harness: Harness,
    requests: Mapping[Side, ChildRequest],
    workloads: Sequence[WorkloadSpec],
    *,
    is_at_once: bool = False,
) -> tuple[CountedWork, ...]:
    """Count the work of a step on both sides.

    Nothing is timed, so both sides may be counted at once if the device has room for both, as a CPU
    has: in forks of a child per framework and side. Otherwise each workload has its own child, and
    one that fails on base is not tried on head; the pairs report it.
    """
    limits = harness.limits
    seconds = min(limits.workload_s, MAX_COUNTING_SECONDS)
    ends_at = harness.ends_at - (1 - COUNTING_SHARE) * harness.seconds_left()
    hasty = replace(
        harness,
        limits=replace(
            limits, workload_s=seconds, own_workload_s={}, workload_share=WORKLOAD_SHARE
        ),
        ends_at=ends_at if math.isfinite(ends_at) else math.inf,
    )
    count = _at_once if is_at_once else _one_by_one
    counted = [
        CountedWork(workload=message.workload, side=side, work=_work(message))
        for framework in FRAMEWORKS
        for side, message in count(
            hasty, requests, tuple(spec.id for spec in workloads if spec.framework is framework)
        )
    ]
    places = {spec.id: index for index, spec in enumerate(workloads)}
    return tuple(sorted(counted, key=lambda each: (places[each.workload], each.side)))


def _at_once(
    harness: Harness, requests: Mapping[Side, ChildRequest], workloads: tuple[str, ...]
) -> Iterator[tuple[Side, CountedMessage | FailedMessage]]:
    def answers(harness: Harness, side: Side) -> tuple[CountedMessage | FailedMessage, ...]:
        forking = replace(requests[side], is_forking=True)
        return tuple(_answers(harness, forking, workloads))

    messages = on_both_sides(harness, answers)
    failed = {
        side: {each.workload for each in messages[side] if isinstance(each, FailedMessage)}
        for side in Side
    }
    for side in Side:
        # What only one process can have makes one side fail: it is counted again, alone.
        again = tuple(name for name in workloads if name in failed[side] - failed[side.facing])
        yield from ((side, each) for each in messages[side] if each.workload not in again)
        forking = replace(requests[side], is_forking=True)
        yield from ((side, each) for each in _answers(harness, forking, again))


def _one_by_one(
    harness: Harness, requests: Mapping[Side, ChildRequest], workloads: tuple[str, ...]
) -> Iterator[tuple[Side, CountedMessage | FailedMessage]]:
    failed: set[str] = set()
    for side in Side:
        remaining = tuple(name for name in workloads if name not in failed)
        for message in _answers(harness, requests[side], remaining):
            failed |= {message.workload} if isinstance(message, FailedMessage) else set()
            yield side, message


def _answers(
    harness: Harness, request: ChildRequest, workloads: tuple[str, ...]
) -> Iterator[CountedMessage | FailedMessage]:
    count_request = replace(
        request, command=Command.COUNT, workloads=workloads, is_interleaved=False
    )
    names: Collection[str] = frozenset(workloads)
    if not workloads:
        return
    for message in run_request(harness, count_request):
        if isinstance(message, CountedMessage | FailedMessage) and message.workload in names:
            yield message


def _work(message: CountedMessage | FailedMessage) -> StepWork:
    if isinstance(message, FailedMessage):
        limit = f"{NOT_COUNTED}: {message.reason}: {message.detail}"
        return StepWork(limits=(limit[:MAX_DETAIL],))
    counts = {each.name: each for each in message.counts}.values()
    return StepWork(
        counts=tuple(msgspec.convert(each, Count, from_attributes=True) for each in counts),
        limits=_sentences(message.limits),
        program=message.program,
        variant_remarks=_sentences(message.variant_remarks),
    )


def _sentences(texts: Sequence[str]) -> tuple[str, ...]:
    return tuple(clean_text(text)[:MAX_DETAIL] for text in texts[:MAX_LIMITS])

"""Two checkouts and some workloads in, what a step of each asks for on either side out.

Nothing here can fail a check: what cannot be counted is measured all the same.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from perfledger.protocol import Command, Request
from perfledger.records import Framework, Side, WorkloadSpec
from perfledger.work import Count, CountedWork, Work
from perfledger_runners.child import run_request
from perfledger_runners.harness import Harness
from perfledger_runners.messages import MAX_LIMITS, Counted, Failed
from perfledger_runners.text import MAX_DETAIL, clean

# Setting up and compiling once; what takes longer says so in what is measured, for its own limit.
MAX_COUNTING_SECONDS = 120.0
# Those with operators or programs that something counts.
FRAMEWORKS = (Framework.TORCH, Framework.JAX)


def count_both(
    harness: Harness,
    requests: Mapping[Side, Request],
    workloads: Sequence[WorkloadSpec],
    *,
    is_at_once: bool = False,
) -> tuple[CountedWork, ...]:
    """Count the work of a step on both sides: one child for each framework and side.

    Nothing is timed, so that both sides may be counted at once where the device holds both. Else
    what fails on base is not tried on head, and waits for the pairs to be reported.
    """
    limits = harness.limits
    seconds = min(limits.workload_s, MAX_COUNTING_SECONDS)
    hasty = replace(harness, limits=replace(limits, workload_s=seconds))
    count = _at_once if is_at_once else _one_by_one
    found = [
        CountedWork(workload=message.workload, side=side, work=_work(message))
        for framework in FRAMEWORKS
        for side, message in count(
            hasty, requests, tuple(spec.id for spec in workloads if spec.framework is framework)
        )
    ]
    places = {spec.id: index for index, spec in enumerate(workloads)}
    return tuple(sorted(found, key=lambda each: (places[each.workload], each.side)))


def _at_once(
    harness: Harness, requests: Mapping[Side, Request], workloads: tuple[str, ...]
) -> Iterator[tuple[Side, Counted | Failed]]:
    def answers(side: Side) -> tuple[Counted | Failed, ...]:
        return tuple(_answers(harness, requests[side], workloads))

    with ThreadPoolExecutor(len(Side)) as pool:
        for side, found in zip(Side, pool.map(answers, Side), strict=True):
            yield from ((side, message) for message in found)


def _one_by_one(
    harness: Harness, requests: Mapping[Side, Request], workloads: tuple[str, ...]
) -> Iterator[tuple[Side, Counted | Failed]]:
    failed: set[str] = set()
    for side in Side:
        asked = tuple(name for name in workloads if name not in failed)
        for message in _answers(harness, requests[side], asked):
            failed |= {message.workload} if isinstance(message, Failed) else set()
            yield side, message


def _answers(
    harness: Harness, request: Request, workloads: tuple[str, ...]
) -> Iterator[Counted | Failed]:
    asked = replace(request, command=Command.COUNT, workloads=workloads, takes_turns=False)
    known: Collection[str] = frozenset(workloads)
    if not workloads:
        return
    for message in run_request(harness, asked):
        if isinstance(message, Counted | Failed) and message.workload in known:
            yield message


def _work(message: Counted | Failed) -> Work:
    if isinstance(message, Failed):
        return Work(limits=(f"not counted: {message.why}: {message.detail}"[:MAX_DETAIL],))
    counts = {each.name: each for each in message.counts}
    return Work(
        counts=tuple(
            Count(name=name, unit=each.unit, value=each.value, source=each.source)
            for name, each in counts.items()
        ),
        limits=tuple(clean(limit)[:MAX_DETAIL] for limit in message.limits[:MAX_LIMITS]),
        program=message.program,
    )

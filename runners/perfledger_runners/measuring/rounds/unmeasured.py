"""Says why workloads were not measured or settled: the budget was short, or both sides skip."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from perfledger.records import Failure, FailureReason, Side
from perfledger.rounding import digits, integer, typed
from perfledger_runners.children.limit_watch import TOOK_SHARE
from perfledger_runners.measuring.rounds.admission import Admission

# How much longer than its last pair, as a factor and in seconds, a workload hangs. At the end of
# the budget others are cut off: a busy machine makes pairs uneven.
HANG_FACTOR, HANG_SECONDS = 5.0, 5.0
# Share of the rest of the budget for each side of a workload's first pair. A test needs several
# pairs, so one that takes longer cannot be settled, and without a limit it takes the time of all
# others. The first pair may be the longest, as it fills caches of compilers.
FIRST_PAIR_SHARE, FIRST_PAIR_SHARE_ALONE = 0.25, 0.4


@dataclass(frozen=True, slots=True, kw_only=True)
class FutileWorkload:
    """A workload that the rest of the budget would probably not have settled."""

    pairs: int  # measured so far
    seconds_left: float
    seconds_per_pair: float


def unreached_failures(
    workloads: Iterable[str], done: Mapping[str, int], *, admission: Admission, budget_s: float
) -> Iterator[Failure]:
    """Yield a failure for each of the workloads that has no pair; `done` counts those of all."""
    budget = f"the budget of {typed(budget_s)} s"
    behind = ", behind those that call changed functions" if admission.first else ""
    spent = f"{budget} was spent before its first pair: raise it"
    not_admitted = (
        f"{budget} was enough for {integer(len(admission.admitted))} of {integer(len(done))} "
        f"workloads, in the order of the suite{behind}: choose with -k or paths, or raise it"
    )
    for workload in workloads:
        if done[workload] == 0:
            yield Failure(
                workload=workload,
                side=Side.HEAD,
                why=FailureReason.BUDGET,
                detail=spent if workload in admission.admitted else not_admitted,
            )


def cut_off_failures(
    failures: Iterable[Failure],
    seconds: Mapping[str, float],
    *,
    earlier_seconds: Mapping[str, float],
) -> Iterator[Failure]:
    """Yield the failures of workloads that have none by their own, of those that the budget ended.

    `seconds` are those of this pair, and `earlier_seconds` of the last one of workloads with pairs.
    A side that took its share of the rest has failed. At the end of the budget, the first side has
    that was running, if the workload has no other pair or took far longer than before: it hangs.
    The other one had no time.
    """
    ended: set[str] = set()
    for failure in failures:
        workload = failure.workload
        if failure.detail.startswith(TOOK_SHARE):
            ended.add(workload)
            yield replace(failure, detail=f"{failure.detail}: raise the budget")
            continue
        if workload in ended or workload not in seconds:
            continue
        pair_s, earlier_s = seconds[workload], earlier_seconds.get(workload)
        if earlier_s is None or pair_s > HANG_FACTOR * earlier_s + HANG_SECONDS:
            ended.add(workload)
            usual = "" if earlier_s is None else f" (earlier pairs took {digits(earlier_s, 3)} s)"
            detail = f"{failure.detail}, after {digits(pair_s, 3)} s{usual}: raise the budget"
            yield replace(failure, detail=detail)


def skipped_on_both(failures: Iterable[Failure]) -> dict[str, str]:
    """Return the workloads that skipped themselves on both sides; one side alone hides a change."""
    sides: dict[str, dict[Side, str]] = {}
    for failure in failures:
        if failure.why is FailureReason.SKIPPED:
            sides.setdefault(failure.workload, {})[failure.side] = failure.detail
    return {name: why[Side.HEAD] for name, why in sides.items() if why.keys() == set(Side)}

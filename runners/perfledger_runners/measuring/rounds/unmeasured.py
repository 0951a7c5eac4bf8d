"""Says why workloads were not measured or settled: the budget was short, or both sides skip."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from perfledger.records import Failure, FailureReason, Side
from perfledger.rounding import integer, typed
from perfledger_runners.measuring.rounds.admission import Admission


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


def skipped_on_both(failures: Iterable[Failure]) -> dict[str, str]:
    """Return the workloads that skipped themselves on both sides; one side alone hides a change."""
    sides: dict[str, dict[Side, str]] = {}
    for failure in failures:
        if failure.why is FailureReason.SKIPPED:
            sides.setdefault(failure.workload, {})[failure.side] = failure.detail
    return {name: why[Side.HEAD] for name, why in sides.items() if why.keys() == set(Side)}

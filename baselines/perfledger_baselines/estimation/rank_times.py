"""Describes the ranks of a step: which one the others wait for, and how throughput scales."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median

from scipy.special import bdtrc

from perfledger.metrics import STEP_TIME
from perfledger.records import Param, Run, WorkloadSpec

DEVICES = "devices"
STEPS = "steps"  # the unit of a workload that declares none
# Share of the steps: a rank that is the slowest in fewer of them may be a different one in the next
# process.
STRAGGLER_SHARE = 0.8
# Share of the step time: a smaller lag depends on how the host wakes processes.
STRAGGLER_LAG = 0.02


# Which rank is the slowest depends on how a process was placed, so processes are counted and not
# steps. At this chance, for all ranks together, 6 processes reveal a straggler among 2 ranks, 4
# among 4, and 3 among 8.
MAX_CHANCE = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class RankSpread:
    """How a step's ranks differ, described by the rank that is slowest most often.

    `share` is the share of steps in which it is the slowest, and `lag` the median share of the step
    time by which a step's slowest rank is behind the median of the others. A process is a run of
    the step; in `slow_processes` of them this rank is the slowest in a STRAGGLER_SHARE of the
    steps.
    """

    ranks: int
    slowest: int
    share: float
    lag: float
    processes: int
    slow_processes: int
    cores: int | None = None  # of the machine; None: unknown

    @property
    def is_behind(self) -> bool:
        """Return whether the others waited for that rank, whatever the reason."""
        return self.share >= STRAGGLER_SHARE and self.lag >= STRAGGLER_LAG

    @property
    def chance(self) -> float:
        """Return the probability that some rank is slowest in this many processes if all are equal.

        A binomial tail, times the number of ranks (Bonferroni); at most 1.
        """
        tail = float(bdtrc(self.slow_processes - 1, self.processes, 1 / self.ranks))
        return min(1.0, self.ranks * tail)

    @property
    def has_too_few_cores(self) -> bool:
        """Return whether ranks take turns on cores, so that one of them has to wait."""
        return self.cores is not None and self.ranks > self.cores

    @property
    def has_straggler(self) -> bool:
        """Return whether the others wait for that rank, beyond chance or a lack of cores."""
        return self.is_behind and not self.has_too_few_cores and self.chance <= MAX_CHANCE


def rank_spread(runs: Iterable[Run], *, cores: int | None = None) -> RankSpread | None:
    """Return how the ranks of these runs differ; None if no run has several ranks.

    A collective at the end of a step makes all ranks wait for the last one, and hides which one
    that is.
    """
    processes = [
        tuple(zip(*run.rank_times_s, strict=True)) for run in runs if len(run.rank_times_s) > 1
    ]
    steps = [times for process in processes for times in process]
    if not steps:
        return None
    slowest_counts = [Counter(map(_slowest, process)) for process in processes]
    rank, count = sum(slowest_counts, Counter[int]()).most_common(1)[0]
    slow_processes = sum(
        counts[rank] >= STRAGGLER_SHARE * counts.total() for counts in slowest_counts
    )
    return RankSpread(
        ranks=len(steps[0]),
        slowest=rank,
        share=count / len(steps),
        lag=median(map(_lag, steps)),
        processes=len(processes),
        slow_processes=slow_processes,
        cores=cores,
    )


def scaling_efficiency(
    spec: WorkloadSpec, single: WorkloadSpec, runs: Sequence[Run], runs_of_one: Sequence[Run]
) -> float | None:
    """Return the throughput per device as a share of one device's alone.

    Throughput is units per step over the median step time. None if a side has no steps, or no unit
    is declared: a step on several devices may then do several times the work.
    """
    step_s, single_s = _step_s(runs), _step_s(runs_of_one)
    if spec.unit == STEPS or single.unit != spec.unit or step_s is None or single_s is None:
        return None
    per_device = spec.units_per_step / step_s / spec.devices
    return per_device / (single.units_per_step / single_s)


def one_device_spec(spec: WorkloadSpec, workloads: Iterable[WorkloadSpec]) -> WorkloadSpec | None:
    """Return the same workload on one device; None if the grid has none."""
    key = _without_devices(spec)
    matches = (each for each in workloads if each.devices == 1 and _without_devices(each) == key)
    return next(matches, None)


def _without_devices(spec: WorkloadSpec) -> tuple[str, str, dict[str, Param]]:
    params = {name: value for name, value in spec.params.items() if name != DEVICES}
    return spec.module, spec.function, params


def _slowest(times: Sequence[float]) -> int:
    return times.index(max(times))


def _lag(times: Sequence[float]) -> float:
    *earlier_times, slowest = sorted(times)
    return (slowest - median(earlier_times)) / slowest if slowest > 0 else 0.0


def _step_s(runs: Sequence[Run]) -> float | None:
    """Return the median of the runs' median step times."""
    medians = [median(run.samples[STEP_TIME.name]) for run in runs if STEP_TIME.name in run.samples]
    return median(medians) if medians else None

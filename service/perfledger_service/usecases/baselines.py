"""A folder's bundles and a head's in, what of the folder the head is held against and why out."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from perfledger.bundle import Bundle
from perfledger.metrics import Metric
from perfledger.records import Run, Side
from perfledger_baselines.environment import environment_of
from perfledger_baselines.history.attribution import CommitRange, Observed, moves_of
from perfledger_baselines.prior import PriorError, SpreadPrior, prior_from_runs
from perfledger_baselines.selection import (
    AcceptedChange,
    Candidate,
    Selection,
    Wanted,
    select_baseline,
)
from perfledger_service.errors import UsageError
from perfledger_service.usecases.columns import quoted
from perfledger_service.usecases.detecting import observed_in, searched_series
from perfledger_service.usecases.histories import (
    bundles_histories,
    in_order,
    is_of_branch,
    typical,
)
from perfledger_service.usecases.run_values import run_values, runs_of
from perfledger_service.views import MeasuredSeries

# As git has it: fewer name too many commits.
FEWEST_LETTERS = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Baseline:
    """What a head is held against: one value for each check.

    What a machine does to a check is in all of its runs: however many there are, they tell it once.
    `prior` is what the whole series tells of how far checks lie apart, None of fewer than five.
    """

    values: tuple[float, ...]
    prior: SpreadPrior | None
    reason: str


@dataclass(frozen=True, slots=True)
class Wishes:
    """What a person wants of a baseline, in the first letters of commits or of bundles' ids."""

    pinned: str = ""  # the check to hold a head against, whatever speaks against it
    accepted: tuple[str, ...] = ()  # commits whose new levels are right: nothing older counts


NO_WISHES = Wishes()


class Shelf:
    """The bundles of a folder, oldest first, each of them a commit, and what moved meanwhile."""

    def __init__(self, bundles: Sequence[Bundle], wishes: Wishes = NO_WISHES) -> None:
        """Search the bundles' history. Raises UsageError for wishes that name none of them."""
        self._bundles = in_order(bundles)
        self._pinned = self._bundles[self._named(wishes.pinned)[-1]].id if wishes.pinned else ""
        self._accepted = tuple(self._named(name)[0] for name in wishes.accepted)
        self._observed: dict[tuple[str, str, str], Observed] = {}
        self._priors: dict[tuple[str, str, str], SpreadPrior | None] = {}
        for searched in searched_series(bundles_histories(self._bundles)):
            observed = observed_in(searched)
            if observed is not None:
                self._observed[observed.series.key] = observed
                self._priors[observed.series.key] = _prior(searched.series, observed)

    @property
    def newest(self) -> Bundle:
        """Return the bundle of the newest check."""
        return self._bundles[-1]

    def baseline_of(self, head: Bundle, workload: str, metric: Metric) -> Baseline:
        """Choose what a head's metric is held against. Raises NoBaselineError.

        A head whose base is none of the folder's commits is taken for newer than all of them.
        """
        machine_class = head.machines()[workload, Side.HEAD].device_class
        key = (workload, metric.name, machine_class)
        wanted = Wanted(
            workload=workload,
            metric=metric,
            check=head.id,
            merge_base=self._place_of(head.base.sha),
            machine_class=machine_class,
            environment=environment_of(head.machine),
            levels=_levels(self._observed.get(key)),
            accepted=tuple(
                AcceptedChange(workload=workload, metric=metric.name, commit=place)
                for place in self._accepted
            ),
            pinned=self._pinned,
        )
        runs = dict(self._runs(head, workload, metric))
        chosen = select_baseline(wanted, runs)
        return Baseline(
            values=_values(chosen, runs), prior=self._priors.get(key), reason=chosen.reason
        )

    def _named(self, name: str) -> tuple[int, ...]:
        """Return the places of the one commit, or the one check, that a name begins."""
        if len(name) < FEWEST_LETTERS:
            msg = f"{quoted(name)} is too short to name a commit: give {FEWEST_LETTERS} letters"
            raise UsageError(msg)
        places: dict[str, list[int]] = {}
        for place, bundle in enumerate(self._bundles):
            for known in (_sha(bundle), bundle.id):
                if known.startswith(name):
                    places.setdefault(known, []).append(place)
        if len(places) != 1:
            found = "several name" if places else "none of them names"
            msg = f"{quoted(name)}: {found} a commit or an id of the {len(self._bundles)} bundles"
            raise UsageError(msg)
        return tuple(*places.values())

    def _place_of(self, sha: str) -> int:
        places = [place for place, bundle in enumerate(self._bundles) if _sha(bundle) == sha]
        return max(places, default=len(self._bundles))

    def _runs(
        self, head: Bundle, workload: str, metric: Metric
    ) -> Iterator[tuple[Candidate, float]]:
        """Yield the runs of each check that all tell the metric, with their values.

        The head's own are no candidates, nor those of another unit of work, nor those that mean
        another thing by the metric.
        """
        unit = _unit(head, workload)
        for place, bundle in enumerate(self._bundles):
            is_alike = metric in bundle.metrics and _unit(bundle, workload) == unit
            runs = runs_of(bundle, _side(bundle)).get(workload, ())
            values = run_values(runs, metric)
            if bundle.id != head.id and is_alike and len(values) == len(runs):
                for run, value in zip(runs, values, strict=True):
                    yield _candidate(bundle, run, place), value


def _candidate(bundle: Bundle, run: Run, place: int) -> Candidate:
    return Candidate(
        run=f"{bundle.id}/{run.process}",
        check=bundle.id,
        commit=place,
        machine_class=bundle.machine.part_used_by(run).device_class,
        environment=environment_of(bundle.machine),
    )


def _values(chosen: Selection, runs: dict[Candidate, float]) -> tuple[float, ...]:
    checks = groupby(chosen.runs, key=lambda candidate: candidate.check)
    return tuple(typical([runs[candidate] for candidate in group]) for _, group in checks)


def _levels(known: Observed | None) -> tuple[CommitRange, ...]:
    return () if known is None else tuple(move.commits for move in moves_of(known))


def _prior(series: MeasuredSeries, known: Observed) -> SpreadPrior | None:
    """Return what the whole series tells of how far two checks lie apart without cause."""
    measured = [series.values[place] for place in known.commits]
    try:
        return prior_from_runs(measured, changes=[change.index for change in known.changes])
    except PriorError:
        return None


def _side(bundle: Bundle) -> Side:
    return Side.HEAD if is_of_branch(bundle) else Side.BASE


def _sha(bundle: Bundle) -> str:
    return (bundle.head if is_of_branch(bundle) else bundle.base).sha


def _unit(bundle: Bundle, workload: str) -> tuple[str, float] | None:
    """Return a workload's unit of work; None where the bundle does not know the workload."""
    found = ((spec.unit, spec.units_per_step) for spec in bundle.workloads if spec.id == workload)
    return next(found, None)

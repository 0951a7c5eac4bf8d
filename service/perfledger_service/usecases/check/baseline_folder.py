"""Chooses a head's baseline from a folder of bundles."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from perfledger.bundle import Bundle
from perfledger.metrics import Metric
from perfledger.records import Run, Side
from perfledger_baselines.history.commits.attribution import (
    CommitRange,
    ObservedSeries,
    attributed_changes,
)
from perfledger_baselines.planning.baseline_selection import (
    AcceptedChange,
    BaselineCandidate,
    BaselineRequest,
    BaselineSelection,
    NoBaselineError,
    select_baseline,
)
from perfledger_baselines.planning.epochs import epoch_key
from perfledger_baselines.significance.spread_prior import PriorError, SpreadPrior, prior_from_runs
from perfledger_service.errors import UsageError
from perfledger_service.usecases.inputs.history_sources import (
    bundles_histories,
    geometric_mean,
    is_of_branch,
    sort_bundles,
)
from perfledger_service.usecases.inputs.run_values import (
    UsableValues,
    is_usable,
    left_out_text,
    run_estimates,
    runs_of,
    usable_values,
)
from perfledger_service.usecases.inputs.searched_histories import observed_in, searched_series
from perfledger_service.usecases.inputs.table_columns import quote_text
from perfledger_service.values.measured_series import MeasuredSeries

# As in git: shorter prefixes match too many commits.
MIN_LETTERS = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Baseline:
    """Baseline of a head: one value per check.

    All runs of one check share that check's machine state, so a check counts as one value. `prior`
    is the spread between checks of the whole series, None with fewer than five.
    """

    values: tuple[float, ...]
    prior: SpreadPrior | None
    reason: str


@dataclass(frozen=True, slots=True)
class BaselinePreferences:
    """A user's choice of baseline, as prefixes of commits or of bundle ids."""

    pinned: str = ""  # the check to use, whatever its commit or machine state
    accepted: tuple[str, ...] = ()  # commits whose new levels are accepted: nothing older counts


NO_PREFERENCES = BaselinePreferences()


@dataclass(frozen=True, slots=True)
class _StoredCheck:
    """A check of a folder: its bundle and place there, its runs and their values of a metric."""

    place: int
    bundle: Bundle
    runs: tuple[Run, ...]
    estimates: tuple[float, ...]
    values: UsableValues

    @property
    def machine_class(self) -> str:
        """Return the class of the part of the machine that its runs used."""
        return self.bundle.machine.part_used_by(self.runs[0]).machine_class


class BaselineFolder:
    """The bundles of a folder, oldest first, one per commit, with the changes between them."""

    def __init__(
        self, bundles: Sequence[Bundle], preferences: BaselinePreferences = NO_PREFERENCES
    ) -> None:
        """Search the bundles' history.

        Raises UsageError without bundles, and for preferences that name none of them.
        """
        if not bundles:
            msg = "there is no bundle to choose a baseline from: add a check of an earlier commit"
            raise UsageError(msg)
        self._bundles = sort_bundles(bundles)
        self._pinned = (
            self._bundles[self.places_of_name(preferences.pinned)[-1]].id
            if preferences.pinned
            else ""
        )
        self._accepted = tuple(self.places_of_name(name)[0] for name in preferences.accepted)
        self._observed: dict[tuple[str, str, str], ObservedSeries] = {}
        self._priors: dict[tuple[str, str, str], SpreadPrior | None] = {}
        for searched in searched_series(bundles_histories(self._bundles)):
            observations = observed_in(searched)
            if observations is not None:
                self._observed[observations.series.key] = observations
                self._priors[observations.series.key] = _prior(searched.series, observations)

    @property
    def newest(self) -> Bundle:
        """Return the newest check's bundle."""
        return self._bundles[-1]

    def baseline_of(self, head: Bundle, workload: str, metric: Metric) -> Baseline:
        """Choose the baseline of a head's metric; raise NoBaselineError.

        A head whose base is not among the folder's commits counts as newer than all of them.
        """
        machine_class = head.machines()[workload, Side.HEAD].machine_class
        key = (workload, metric.name, machine_class)
        request = BaselineRequest(
            workload=workload,
            metric=metric,
            check=head.id,
            merge_base=self._place_of(head.base.sha),
            machine_class=machine_class,
            environment=epoch_key(head.machine),
            levels=_levels(self._observed.get(key)),
            accepted=tuple(
                AcceptedChange(workload=workload, metric=metric.name, commit=place)
                for place in self._accepted
            ),
            pinned=self._pinned,
        )
        checks = self._checks(head, workload, metric)
        runs = {
            _candidate(check.bundle, run, check.place): value
            for check in checks
            if not check.values.flaw
            for run, value in zip(check.runs, check.estimates, strict=True)
            if is_usable(value)
        }
        left_out = left_out_text(
            [check.values for check in checks if check.machine_class == machine_class], "checks"
        )
        note = f"; left out: {left_out}" if left_out else ""
        try:
            selection = select_baseline(request, runs)
        except NoBaselineError as error:
            msg = f"{error}{note}"
            raise NoBaselineError(msg) from error
        return Baseline(
            values=_values(selection, runs),
            prior=self._priors.get(key),
            reason=f"{selection.reason}{note}",
        )

    def places_of_name(self, name: str) -> tuple[int, ...]:
        """Return the places of the only commit, or the only check, with this prefix."""
        if len(name) < MIN_LETTERS:
            msg = f"{quote_text(name)} is too short to name a commit: give {MIN_LETTERS} letters"
            raise UsageError(msg)
        places: dict[str, list[int]] = {}
        for index, bundle in enumerate(self._bundles):
            for identifier in (_sha(bundle), bundle.id):
                if identifier.startswith(name):
                    places.setdefault(identifier, []).append(index)
        if len(places) != 1:
            problem = "several commits or ids begin" if places else "no commit or id begins"
            msg = f"{problem} with {quote_text(name)} in {len(self._bundles)} bundles"
            raise UsageError(msg)
        return tuple(*places.values())

    def _place_of(self, sha: str) -> int:
        places = [index for index, bundle in enumerate(self._bundles) if _sha(bundle) == sha]
        return max(places, default=len(self._bundles))

    def _checks(self, head: Bundle, workload: str, metric: Metric) -> tuple[_StoredCheck, ...]:
        """Return each check whose runs all have the metric.

        Leaves out the head's own, and those with another unit of work or definition of the metric.
        """
        unit = _unit(head, workload)
        checks: list[_StoredCheck] = []
        for index, bundle in enumerate(self._bundles):
            is_alike = metric in bundle.metrics and _unit(bundle, workload) == unit
            runs = runs_of(bundle, _side(bundle)).get(workload, ())
            estimates = run_estimates(runs, metric)
            if bundle.id != head.id and is_alike and len(estimates) == len(runs) > 0:
                values = usable_values(estimates, metric)
                checks.append(_StoredCheck(index, bundle, runs, estimates, values))
        return tuple(checks)


def _candidate(bundle: Bundle, run: Run, place: int) -> BaselineCandidate:
    return BaselineCandidate(
        run=f"{bundle.id}/{run.process}",
        check=bundle.id,
        commit=place,
        machine_class=bundle.machine.part_used_by(run).machine_class,
        environment=epoch_key(bundle.machine),
    )


def _values(
    selection: BaselineSelection, runs: dict[BaselineCandidate, float]
) -> tuple[float, ...]:
    checks = groupby(selection.runs, key=lambda candidate: candidate.check)
    return tuple(geometric_mean([runs[candidate] for candidate in group]) for _, group in checks)


def _levels(observed: ObservedSeries | None) -> tuple[CommitRange, ...]:
    return () if observed is None else tuple(move.commits for move in attributed_changes(observed))


def _prior(series: MeasuredSeries, observed: ObservedSeries) -> SpreadPrior | None:
    """Return how much two checks of the series differ when nothing changed."""
    values = [series.values[place] for place in observed.commits]
    try:
        return prior_from_runs(values, changes=[change.index for change in observed.changes])
    except PriorError:
        return None


def _side(bundle: Bundle) -> Side:
    return Side.HEAD if is_of_branch(bundle) else Side.BASE


def _sha(bundle: Bundle) -> str:
    return (bundle.head if is_of_branch(bundle) else bundle.base).sha


def _unit(bundle: Bundle, workload: str) -> tuple[str, float] | None:
    """Return a workload's unit of work; None if the bundle lacks the workload."""
    units = ((spec.unit, spec.units_per_step) for spec in bundle.workloads if spec.id == workload)
    return next(units, None)

"""Two files of runs in, a verdict on each of their metrics out, without the benefit of pairs."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from perfledger.bundle import Bundle, Plan
from perfledger.metrics import METRICS, STEP_TIME, Kind, Metric, Worse
from perfledger.records import Run, Side
from perfledger_baselines.comparison import UnpairedTest, judge_unpaired
from perfledger_baselines.judge import is_trade
from perfledger_baselines.pairing import judged_metrics
from perfledger_baselines.rule import Rule
from perfledger_baselines.selection import NoBaselineError
from perfledger_baselines.verdict import Outcome, Verdict
from perfledger_service.errors import UsageError
from perfledger_service.report import ExitCode
from perfledger_service.usecases.baselines import NO_WISHES, Shelf, Wishes
from perfledger_service.usecases.columns import quoted
from perfledger_service.usecases.histories import (
    bundles_in,
    read_bundle_or_series,
    shown,
    typical,
)
from perfledger_service.usecases.run_values import run_values, runs_of
from perfledger_service.usecases.translating import translated
from perfledger_service.views import ComparisonView, MeasuredSeries

# What a check without a configuration asks for.
_PLAN = Plan(seed=0, order=(), looks=())


def compare(
    base: Path,
    head: Path,
    *,
    metric: str | None = None,
    worse: Worse | None = None,
    wishes: Wishes = NO_WISHES,
) -> ComparisonView:
    """Compare two bundles' heads, or two CSV or JSON files with one value per run.

    Where `base` is a folder of bundles, what a head is held against is chosen from it, as far as
    `wishes` leave a choice. `metric` chooses one metric of bundles or the column of files; `worse`
    says which way is worse where the file does not. Raises NotFoundError, TooLargeError and
    UsageError.
    """
    if head.is_dir():
        msg = f"B is the folder {shown(head)}: give the head's bundle, and the folder as A"
        raise UsageError(msg)
    if wishes != NO_WISHES and not base.is_dir():
        msg = f"--pin and --accepted choose among checks: give a folder as A, not {shown(base)}"
        raise UsageError(msg)
    before = Shelf(bundles_in(base), wishes) if base.is_dir() else _read(base, metric)
    sides = (before, _read(head, metric))
    if worse is not None and isinstance(sides[1], Bundle):
        msg = "--worse is for files that do not say it: a bundle's metrics do"
        raise UsageError(msg)
    chosen: tuple[tuple[str, str], ...] = ()
    match sides:
        case (Shelf() as before, Bundle() as after):
            tests, chosen = _tests_on_shelf(before, after, metric)
            plan, assumed = before.newest.plan, ""
        case (Bundle() as before, Bundle() as after):
            tests, plan, assumed = _bundle_tests(before, after, metric), before.plan, ""
        case (MeasuredSeries() as before, MeasuredSeries() as after):
            known = _metric_of(before.name, worse)
            tests, plan = (_series_test(before, after, known),), _PLAN
            assumed = "" if worse is not None or before.name in METRICS else _assumed(known)
        case _:
            msg = f"{shown(base)} and {shown(head)}: a bundle is compared with a bundle only"
            raise UsageError(msg)
    with translated():
        rule = Rule(looks=(), alpha=plan.alpha, margin=plan.margin, floor=plan.floor)
    return ComparisonView(
        base=shown(base),
        head=shown(head),
        alpha=rule.alpha,
        margin=max(rule.margin, rule.floor),
        floor=rule.floor,
        assumed=assumed,
        chosen=chosen,
        verdicts=judge_unpaired(tests, rule=rule),
    )


def exit_code_of(verdicts: Sequence[Verdict]) -> ExitCode:
    """Return what a comparison answers with, as a check does: a regression before what is unsure.

    A utilization that fell for speed fails nothing, and a warning holds nothing up.
    """
    counting = {
        verdict.outcome
        for verdict in verdicts
        if not (verdict.is_warning or is_trade(verdict, verdicts))
    }
    if Outcome.REGRESSED in counting:
        return ExitCode.REGRESSION
    if not verdicts or counting & {Outcome.UNDECIDED, Outcome.NOT_MEASURED}:
        return ExitCode.UNCERTAIN
    return ExitCode.OK


def _read(path: Path, metric: str | None) -> Bundle | MeasuredSeries:
    """Return what a file holds; `metric` is a column's name only where there are columns."""
    return read_bundle_or_series(path, column=metric)


def _tests_on_shelf(
    before: Shelf, after: Bundle, wanted: str | None
) -> tuple[tuple[UnpairedTest, ...], tuple[tuple[str, str], ...]]:
    """Return a test for each metric that the head read, and in words what each is held against.

    A check is one value on either side: how far checks lie apart is the history's to say.
    """
    tests: list[UnpairedTest] = []
    chosen: list[tuple[str, str]] = []
    measured = runs_of(after, Side.HEAD)
    metrics = _judged(before.newest, after, wanted)
    failed = {failure.workload for failure in after.failures if failure.side is Side.HEAD}
    registered = [spec.id for bundle in (before.newest, after) for spec in bundle.workloads]
    for workload in dict.fromkeys([*registered, *measured, *sorted(failed)]):
        runs = measured.get(workload, ())
        if workload in failed or not runs:
            why = "failed in B" if workload in failed else "was not measured in B"
            tests.append(_flawed(workload, metrics[0], why))
            continue
        for metric in metrics:
            values = run_values(runs, metric)
            if not values and metric.name != STEP_TIME.name:
                continue
            try:
                baseline = before.baseline_of(after, workload, metric)
            except NoBaselineError as error:
                tests.append(_flawed(workload, metric, str(error)))
                continue
            head = (typical(values),) if values else ()
            test = _test(workload, metric, base=baseline.values, head=head)
            tests.append(replace(test, prior=baseline.prior))
            chosen.append((f"{workload} {metric.name}", baseline.reason))
    return tuple(tests), tuple(chosen)


def _bundle_tests(before: Bundle, after: Bundle, wanted: str | None) -> tuple[UnpairedTest, ...]:
    metrics = _judged(before, after, wanted)
    sides = (runs_of(before, Side.HEAD), runs_of(after, Side.HEAD))
    registered = [spec.id for bundle in (before, after) for spec in bundle.workloads]
    workloads = dict.fromkeys([*registered, *sides[0], *sides[1]])
    return tuple(
        test
        for workload in workloads
        for test in _workload_tests(
            workload,
            metrics,
            runs=(sides[0].get(workload, ()), sides[1].get(workload, ())),
            flaw=_flaw(workload, before, after, sides),
        )
    )


def _judged(before: Bundle, after: Bundle, wanted: str | None) -> tuple[Metric, ...]:
    """Return the metrics to compare; those that the two bundles describe differently are none."""
    metrics = judged_metrics(after.metrics)
    others = {metric.name: metric for metric in judged_metrics(before.metrics)}
    for metric in metrics:
        other = others.get(metric.name, metric)
        if other != metric:
            msg = (
                f"the bundles mean different things by {quoted(metric.name)}: its unit, direction "
                "or scale is another one"
            )
            raise UsageError(msg)
    every = tuple(({metric.name: metric for metric in metrics} | others).values())
    if wanted is None:
        return every
    found = tuple(metric for metric in every if metric.name == wanted)
    if not found:
        names = ", ".join(quoted(metric.name) for metric in every)
        msg = f"the bundles have no metric {quoted(wanted)}: there are {names}"
        raise UsageError(msg)
    return found


def _flaw(
    workload: str, before: Bundle, after: Bundle, sides: Sequence[Mapping[str, Sequence[Run]]]
) -> str:
    """Return why the runs of a workload cannot be compared, or "" if they can."""
    for name, bundle, runs in (("A", before, sides[0]), ("B", after, sides[1])):
        if any(one.workload == workload and one.side is Side.HEAD for one in bundle.failures):
            return f"failed in {name}"
        if workload not in runs:
            return f"was not measured in {name}"
    classes = tuple(
        bundle.machines()[workload, Side.HEAD].device_class for bundle in (before, after)
    )
    if classes[0] != classes[1]:
        return f"not comparable: A ran on {classes[0]}, B on {classes[1]}"
    units = [
        {(spec.unit, spec.units_per_step) for spec in bundle.workloads if spec.id == workload}
        for bundle in (before, after)
    ]
    return "" if units[0] == units[1] else "not comparable: its unit of work is another one"


def _workload_tests(
    workload: str, metrics: Sequence[Metric], *, runs: Sequence[Sequence[Run]], flaw: str
) -> tuple[UnpairedTest, ...]:
    """Return a test for each metric that both sides read; of a flawed workload, one in all.

    Step time and what was asked for are always tests.
    """
    if flaw:
        speed = next((metric for metric in metrics if metric.kind is Kind.SPEED), metrics[0])
        return (_flawed(workload, speed, flaw),)
    return tuple(
        _test(workload, metric, base=run_values(runs[0], metric), head=run_values(runs[1], metric))
        for metric in metrics
        if all(any(metric.name in run.samples for run in side) for side in runs)
        or metric.name == STEP_TIME.name
        or metric.is_asked
    )


def _flawed(workload: str, metric: Metric, flaw: str) -> UnpairedTest:
    return UnpairedTest(workload=workload, metric=metric, base=(), head=(), flaw=flaw)


def _series_test(before: MeasuredSeries, after: MeasuredSeries, metric: Metric) -> UnpairedTest:
    sides = [
        tuple(value for value in series.values if value == value)  # noqa: PLR0124 - a gap is NaN
        for series in (before, after)
    ]
    is_positive = all(value > 0 for side in sides for value in side)
    usable = sides if is_positive else ((), ())
    return _test(before.name, metric, base=usable[0], head=usable[1])


def _test(
    workload: str, metric: Metric, *, base: tuple[float, ...], head: tuple[float, ...]
) -> UnpairedTest:
    """Return a test; a side that could not be read has no values."""
    flaw = "" if base and head else "a reading that is zero, negative or none: there is no ratio"
    return UnpairedTest(workload=workload, metric=metric, base=base, head=head, flaw=flaw)


def _metric_of(name: str, worse: Worse | None) -> Metric:
    """Return the metric that a column is: one of ours by its name, else one without a unit."""
    if worse is None and name in METRICS:
        return METRICS[name]
    return Metric(name=name, unit="", worse=worse or Worse.HIGHER, kind=Kind.SPEED)


def _assumed(metric: Metric) -> str:
    return (
        f"the column {metric.name} was taken for a time: more is worse. If less is: --worse lower"
    )

"""Compares the runs of two files, without pairs."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from perfledger.bundle import Bundle, Plan
from perfledger.metrics import METRICS, STEP_TIME, Metric, MetricKind, WorseDirection
from perfledger.records import Device, Run, Side
from perfledger_baselines.estimation.pairing import judged_metrics
from perfledger_baselines.judging.judge import is_trade, judge_unpaired
from perfledger_baselines.judging.verdict import Outcome, Verdict
from perfledger_baselines.planning.baseline_selection import NoBaselineError
from perfledger_baselines.significance.decision_rule import DecisionRule
from perfledger_baselines.significance.unpaired_t_tests import UnpairedTest
from perfledger_service.errors import UsageError
from perfledger_service.usecases.check.baseline_folder import (
    NO_PREFERENCES,
    BaselineFolder,
    BaselinePreferences,
)
from perfledger_service.usecases.inputs.error_translation import translate_errors
from perfledger_service.usecases.inputs.files import shown_path
from perfledger_service.usecases.inputs.history_sources import (
    bundles_in,
    display_name,
    geometric_mean,
    read_bundle_or_series,
)
from perfledger_service.usecases.inputs.run_values import (
    UsableValues,
    run_values,
    runs_of,
    usable_values,
)
from perfledger_service.usecases.inputs.table_columns import quote_text
from perfledger_service.values.comparison_view import ComparisonView
from perfledger_service.values.measured_series import MeasuredSeries
from perfledger_service.values.report import ExitCode

# The plan of a check without a configuration.
_PLAN = Plan(seed=0, order=(), looks=())


def compare(
    base: Path,
    head: Path,
    *,
    metric: str | None = None,
    worse: WorseDirection | None = None,
    preferences: BaselinePreferences = NO_PREFERENCES,
) -> ComparisonView:
    """Compare two bundles' heads, or two CSV or JSON files with one value per run.

    If `base` is a folder of bundles, the baseline is chosen from it by `preferences`. `metric`
    chooses one metric of bundles or a file's column; `worse` is the worse direction if the file
    does not say. Raises NotFoundError, TooLargeError and UsageError.
    """
    if head.is_dir():
        msg = f"B is the folder {shown_path(head)}: give a bundle as B, and a folder only as A"
        raise UsageError(msg)
    if preferences != NO_PREFERENCES and not base.is_dir():
        msg = (
            "--baseline and --accepted-commit choose among checks: give a folder as A, not "
            f"{shown_path(base)}"
        )
        raise UsageError(msg)
    before = BaselineFolder(bundles_in(base), preferences) if base.is_dir() else _read(base, metric)
    sides = (before, _read(head, metric))
    if worse is not None and isinstance(sides[1], Bundle):
        msg = "--worse is only for CSV and JSON files: a bundle's metrics have a direction"
        raise UsageError(msg)
    baselines: tuple[tuple[str, str], ...] = ()
    match sides:
        case (BaselineFolder() as before, Bundle() as after):
            tests, baselines = _folder_tests(before, after, metric)
            plan, assumed = before.newest.plan, ""
        case (Bundle() as before, Bundle() as after):
            tests, plan, assumed = _bundle_tests(before, after, metric), before.plan, ""
        case (MeasuredSeries() as before, MeasuredSeries() as after):
            compared_metric = _metric_of(before.name, worse)
            tests, plan = (_series_test(before, after, compared_metric),), _PLAN
            assumed = (
                ""
                if worse is not None or before.name in METRICS
                else _assumption_text(compared_metric)
            )
        case _:
            names = f"{shown_path(base)} and {shown_path(head)}"
            msg = (
                f"{names} are of two kinds: compare a bundle with a bundle, or a table with a table"
            )
            raise UsageError(msg)
    return _comparison(
        (display_name(base), display_name(head)), tests, plan, assumed=assumed, baselines=baselines
    )


def compare_bundles(before: Bundle, after: Bundle, *, names: tuple[str, str]) -> ComparisonView:
    """Compare the heads of two bundles; raise UsageError if they define a metric differently."""
    return _comparison(names, _bundle_tests(before, after, None), before.plan)


def exit_code_of(verdicts: Sequence[Verdict]) -> ExitCode:
    """Return a comparison's exit code, as for a check: a regression outranks uncertainty.

    Warnings, and utilization that fell because the step became faster, do not count.
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


def _comparison(
    names: tuple[str, str],
    tests: Sequence[UnpairedTest],
    plan: Plan,
    *,
    assumed: str = "",
    baselines: tuple[tuple[str, str], ...] = (),
) -> ComparisonView:
    with translate_errors():
        rule = DecisionRule(looks=(), alpha=plan.alpha, margin=plan.margin, floor=plan.floor)
    return ComparisonView(
        base=names[0],
        head=names[1],
        alpha=rule.alpha,
        margin=max(rule.margin, rule.floor),
        floor=rule.floor,
        assumed=assumed,
        baselines=baselines,
        verdicts=judge_unpaired(tests, rule=rule),
    )


def _read(path: Path, metric: str | None) -> Bundle | MeasuredSeries:
    """Read a bundle or a table; `metric` is the column of a table."""
    return read_bundle_or_series(path, column=metric)


def _folder_tests(
    before: BaselineFolder, after: Bundle, metric_name: str | None
) -> tuple[tuple[UnpairedTest, ...], tuple[tuple[str, str], ...]]:
    """Return a test for each metric of the head, and the reason for each baseline.

    A check counts as one value on either side; the history gives the spread between checks.
    """
    tests: list[UnpairedTest] = []
    baselines: list[tuple[str, str]] = []
    runs_by_workload = runs_of(after, Side.HEAD)
    metrics = _metrics_to_compare(before.newest, after, metric_name)
    failed = {failure.workload for failure in after.failures if failure.side is Side.HEAD}
    registered = [spec.id for bundle in (before.newest, after) for spec in bundle.workloads]
    for workload in dict.fromkeys(registered):
        runs = runs_by_workload.get(workload, ())
        if workload in failed or not runs:
            reason = "failed in B" if workload in failed else "was not measured in B"
            tests.append(_flawed_test(workload, metrics[0], reason))
            continue
        for metric in metrics:
            values = run_values(runs, metric)
            if not (values.values or values.left_out or metric.name == STEP_TIME.name):
                continue
            try:
                baseline = before.baseline_of(after, workload, metric)
            except NoBaselineError as error:
                tests.append(_flawed_test(workload, metric, str(error)))
                continue
            head = (geometric_mean(values.values),) if values.values else ()
            test = _test(
                workload,
                metric,
                base=UsableValues(baseline.values),
                head=replace(values, values=head),
            )
            flaw = "" if not values.flaw else f"B: {values.flaw}"
            tests.append(replace(test, prior=baseline.prior, flaw=flaw))
            baselines.append((f"{workload} {metric.name}", baseline.reason))
    return tuple(tests), tuple(baselines)


def _bundle_tests(
    before: Bundle, after: Bundle, metric_name: str | None
) -> tuple[UnpairedTest, ...]:
    metrics = _metrics_to_compare(before, after, metric_name)
    sides = (runs_of(before, Side.HEAD), runs_of(after, Side.HEAD))
    registered = [spec.id for bundle in (before, after) for spec in bundle.workloads]
    return tuple(
        test
        for workload in dict.fromkeys(registered)
        for test in _workload_tests(
            workload,
            metrics,
            runs=(sides[0].get(workload, ()), sides[1].get(workload, ())),
            flaw=_flaw(workload, before, after, sides),
        )
    )


def _metrics_to_compare(before: Bundle, after: Bundle, name: str | None) -> tuple[Metric, ...]:
    """Return the metrics to compare; raise UsageError if the bundles define one differently."""
    metrics = judged_metrics(after.metrics)
    base_metrics = {metric.name: metric for metric in judged_metrics(before.metrics)}
    for metric in metrics:
        base_metric = base_metrics.get(metric.name, metric)
        if base_metric != metric:
            msg = (
                f"the bundles define {quote_text(metric.name)} differently: compare bundles with "
                "the same unit, direction and scale"
            )
            raise UsageError(msg)
    all_metrics = tuple(({metric.name: metric for metric in metrics} | base_metrics).values())
    if name is None:
        return all_metrics
    matches = tuple(metric for metric in all_metrics if metric.name == name)
    if not matches:
        names = ", ".join(quote_text(metric.name) for metric in all_metrics)
        msg = f"the bundles have no metric {quote_text(name)}: there are {names}"
        raise UsageError(msg)
    return matches


def _flaw(
    workload: str, before: Bundle, after: Bundle, sides: Sequence[Mapping[str, Sequence[Run]]]
) -> str:
    """Return why the runs of a workload cannot be compared, or "" if they can."""
    for name, bundle, runs in (("A", before, sides[0]), ("B", after, sides[1])):
        if any(one.workload == workload and one.side is Side.HEAD for one in bundle.failures):
            return f"failed in {name}"
        if workload not in runs:
            return f"was not measured in {name}"
    a, b = (bundle.machines()[workload, Side.HEAD] for bundle in (before, after))
    if a.machine_class != b.machine_class:
        return f"not comparable: A ran on {a.machine_class}, B on {b.machine_class}"
    if a.device is Device.CPU and a.cores != b.cores:
        return f"not comparable: A had {a.cores} of the CPU's cores, B {b.cores} (set `cores`)"
    units = [
        {(spec.unit, spec.units_per_step) for spec in bundle.workloads if spec.id == workload}
        for bundle in (before, after)
    ]
    return "" if units[0] == units[1] else "not comparable: its unit of work is another one"


def _workload_tests(
    workload: str, metrics: Sequence[Metric], *, runs: Sequence[Sequence[Run]], flaw: str
) -> tuple[UnpairedTest, ...]:
    """Return a test for each metric of both sides, or a single one for a flawed workload.

    Step time and optional metrics are always tested.
    """
    if flaw:
        speed = next((metric for metric in metrics if metric.kind is MetricKind.SPEED), metrics[0])
        return (_flawed_test(workload, speed, flaw),)
    return tuple(
        _test(
            workload,
            metric,
            base=run_values(runs[0], metric),
            head=run_values(runs[1], metric),
        )
        for metric in metrics
        if all(any(metric.name in run.samples for run in side) for side in runs)
        or metric.name == STEP_TIME.name
        or metric.is_optional
    )


def _flawed_test(workload: str, metric: Metric, flaw: str) -> UnpairedTest:
    return UnpairedTest(workload=workload, metric=metric, base=(), head=(), flaw=flaw)


def _series_test(before: MeasuredSeries, after: MeasuredSeries, metric: Metric) -> UnpairedTest:
    base, head = (usable_values(series.values, metric) for series in (before, after))
    return _test(before.name, metric, base=base, head=head)


def _test(workload: str, metric: Metric, *, base: UsableValues, head: UsableValues) -> UnpairedTest:
    """Return a test; it is flawed if a side has no values, or too many that are not valid."""
    flaws = (f"{name}: {side.flaw}" for name, side in (("A", base), ("B", head)) if side.flaw)
    return UnpairedTest(
        workload=workload,
        metric=metric,
        base=base.values,
        head=head.values,
        left_out=(base.left_out, head.left_out),
        flaw="; ".join(flaws),
    )


def _metric_of(name: str, worse: WorseDirection | None) -> Metric:
    """Return the metric of a column: ours if the name matches, else one without a unit."""
    if worse is None and name in METRICS:
        return METRICS[name]
    return Metric(name=name, unit="", worse=worse or WorseDirection.HIGHER, kind=MetricKind.SPEED)


def _assumption_text(metric: Metric) -> str:
    return (
        f"column {metric.name} was read as a time (higher is worse); use --worse lower if it is not"
    )

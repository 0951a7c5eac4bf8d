"""Builds a quarter's review from a plan, checks, a bill and the previous review."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date
from hashlib import sha256
from pathlib import Path

from sqlalchemy.engine import Engine, make_url

from perfledger_cost_models.billing.allocated_hours import label_names
from perfledger_cost_models.billing.bill_against_list import implausible_hours
from perfledger_cost_models.billing.focus import Bill
from perfledger_cost_models.billing.showback import LabelledUsage
from perfledger_cost_models.forecasting.forecast import Forecasts
from perfledger_cost_models.job_logs.gaps import gaps_between
from perfledger_cost_models.job_logs.readers import MAX_LOG_BYTES, read_job_log
from perfledger_cost_models.prices.packaged_sheet import packaged_sheet, packaged_text
from perfledger_cost_models.prices.price_sheet import PriceSheet
from perfledger_cost_models.procurement.hour_shares import ShareStatement
from perfledger_cost_models.procurement.plan import (
    MAX_CHARACTERS,
    PlannedForecast,
    ProcurementPlan,
    UsageFiles,
    read_plan,
)
from perfledger_cost_models.projection.validation import ProjectionCheck
from perfledger_cost_models.review.build import ReviewInputs, build_review
from perfledger_cost_models.review.document import Review, ReviewSource, UnknownFigure
from perfledger_cost_models.review.measured_changes import QuarterRecords
from perfledger_cost_models.review.measured_shares import busy_share
from perfledger_cost_models.review.previous_quarter import (
    MAX_BYTES,
    PreviousReview,
    read_previous_review,
)
from perfledger_cost_models.review.quarter import Quarter, quarter_of
from perfledger_cost_models.review.quarter_jobs import quarter_seconds
from perfledger_cost_models.review.queue_waits import RecordedWaits, recorded_waits
from perfledger_cost_models.scheduling.policy_comparison import PolicyComparison
from perfledger_cost_models.tco.hardware_inputs import (
    packaged_hardware_inputs,
    packaged_text as parameters_text,
)
from perfledger_cost_models.tco.hourly_rates import rate_of
from perfledger_cost_models.usage.device_spans import MAX_USAGE_BYTES
from perfledger_service.errors import UsageError
from perfledger_service.settings.service import PriceSettings
from perfledger_service.store.database import open_engine
from perfledger_service.usecases.cost.device_transfers import device_transfers
from perfledger_service.usecases.fleet.forecast import ForecastRequest, forecast_files
from perfledger_service.usecases.fleet.hours import read_usages
from perfledger_service.usecases.fleet.utilization import read_activity_file
from perfledger_service.usecases.inputs.bills import read_bill
from perfledger_service.usecases.inputs.error_translation import translate_errors
from perfledger_service.usecases.inputs.files import (
    NamedBytes,
    errors_about,
    read_bytes,
    read_named,
    read_text,
    sha256_of,
)
from perfledger_service.usecases.inputs.imports import newest_log, stored_files
from perfledger_service.usecases.inputs.price_books import (
    exchange_rates_of,
    read_price_books,
    text_of_file,
)
from perfledger_service.usecases.plan.simulate import (
    DEFAULT_SETTINGS,
    ClusterNodes,
    compare_policies,
)
from perfledger_service.usecases.review.attachments import attachment_source, read_attachments
from perfledger_service.usecases.review.quarter_projections import (
    ProjectionTargets,
    projection_check,
    projection_targets,
)
from perfledger_service.usecases.review.quarter_records import records_of_bundles, records_of_store
from perfledger_service.values.fleet_views import ImportKind

BYTES_PER_CHARACTER = 4  # of UTF-8, at most
STORE_PREFIX = "store:"  # in a plan, marks the source of an import instead of a file name
# The sources of a review that are prices, lowest precedence first.
PRICE_LAYERS = ("price sheet", "fetched prices", "own prices and inputs", "contract")
HOW_RECORDS = "PERFLEDGER_DATABASE_URL of the service's database, or --bundles FOLDER"


@dataclass(frozen=True, slots=True, kw_only=True)
class _PlanFiles:
    """Content of the files that a plan names, None if it names none, and their sources."""

    use: LabelledUsage | None
    activity: tuple[ShareStatement, ...]
    waits: RecordedWaits | None
    policies: PolicyComparison | None
    forecast: Forecasts | None
    sources: tuple[ReviewSource, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewRequest:
    """Inputs of a review; None for an input that was not given."""

    quarter: Quarter
    today: date
    plan: Path
    bundles: Path | None
    database_url: str
    bill: Path | None
    team_tag: str
    prices: PriceSettings
    previous: Path | NamedBytes | None
    is_stale_allowed: bool


def quarter_named(name: str) -> Quarter:
    """Return the quarter with a name such as 2026Q4; raises UsageError."""
    with translate_errors():
        return quarter_of(name)


def review(request: ReviewRequest) -> Review:
    """Return the review of a quarter; raises UsageError and NotFoundError."""
    with translate_errors():
        with errors_about(request.plan):
            plan_text = read_text(request.plan, most_bytes=BYTES_PER_CHARACTER * MAX_CHARACTERS)
            plan = read_plan(plan_text, request.plan.name)
        books = read_price_books(request.prices, today=request.today)
        prices_source = _prices_source(request.prices)
        targets = projection_targets(plan, sheet=books.sheet, today=request.today)
        records, records_source = _records(request, targets)
        bill, bill_source = _bill(request, books.sheet)
        previous, last_source = _previous(request)
        beside = _read_plan_files(plan, request, books.sheet)
        attachments = read_attachments(plan, request.plan.parent)
        sources = (
            _source("plan", request.plan.name, plan_text.encode()),
            *prices_source,
            _source(
                "inputs of owning", packaged_hardware_inputs().name, parameters_text().encode()
            ),
            *records_source,
            *bill_source,
            *last_source,
            *beside.sources,
            *map(attachment_source, attachments),
        )
        return build_review(
            ReviewInputs(
                quarter=request.quarter,
                today=request.today,
                plan=plan,
                sheet=books.sheet,
                parameters=books.parameters,
                records=records,
                bill=bill,
                bill_name="" if request.bill is None else request.bill.name,
                last=previous,
                sources=sources,
                use=beside.use,
                activity=beside.activity,
                waits=beside.waits,
                policies=beside.policies,
                forecast=beside.forecast,
                projection_check=_projection_check(records),
                transfers=device_transfers(),
                attachments=attachments,
                is_stale_allowed=request.is_stale_allowed,
            )
        )


def _prices_source(settings: PriceSettings) -> tuple[ReviewSource, ...]:
    """Return the layers of prices, lowest precedence first, and exchange rates, with hashes."""
    packaged_layer, *own_layers = PRICE_LAYERS
    files = (settings.prices, settings.overrides, settings.contract)
    layers = dict(zip(own_layers, files, strict=True)) | {"exchange rates": settings.exchange_rates}
    packaged = _source(packaged_layer, packaged_sheet().name, packaged_text().encode())
    return packaged, *(
        _source(what, Path(name).name, text_of_file(Path(name)).encode())
        for what, name in layers.items()
        if name
    )


def _records(
    request: ReviewRequest, targets: ProjectionTargets
) -> tuple[QuarterRecords | UnknownFigure, tuple[ReviewSource, ...]]:
    if request.bundles is not None:
        records = records_of_bundles(request.bundles, request.quarter, targets=targets)
        return records, (_records_source(records, request.quarter),)
    engine = _engine(request.database_url)
    if engine is None:
        reason = "there is no service database, and no bundles were given"
        return UnknownFigure(name="measured records", reason=reason, remedy=HOW_RECORDS), ()
    try:
        origin = f"the store {engine.url.render_as_string(hide_password=True)}"
        records = records_of_store(engine, request.quarter, origin=origin, targets=targets)
    finally:
        engine.dispose()
    return records, (_records_source(records, request.quarter),)


def _records_source(records: QuarterRecords, quarter: Quarter) -> ReviewSource:
    what = f"{records.checks:,} checks, {records.observations:,} observations"
    if records.unattested_checks:
        what += f"; {records.unattested_checks:,} unattested, which give no speed and no change"
    return ReviewSource(
        name=what, origin=records.origin, as_of=f"{quarter.first} to {quarter.last}"
    )


def _bill(
    request: ReviewRequest, sheet: PriceSheet
) -> tuple[Bill | None, tuple[ReviewSource, ...]]:
    if request.bill is None:
        return None, ()
    rates = exchange_rates_of(request.prices)
    bill = read_bill(request.bill, team_tag=request.team_tag, exchange_rates=rates)
    if contradictions := "; ".join(
        implausible_hours(bill, packaged_sheet(), name=request.bill.name, own_prices=sheet)
    ):
        msg = (
            f"{request.bill.name}: {contradictions}. Nothing is decided on it: export it again, "
            "or give the price that was agreed on in --overrides"
        )
        raise UsageError(msg)
    start, end = bill.start.date(), bill.end.date()
    if start < request.quarter.first or end > request.quarter.after.first:
        msg = (
            f"{request.bill.name} covers {start} to {end}, which is not within "
            f"{request.quarter.name}: export that quarter"
        )
        raise UsageError(msg)
    source = ReviewSource(
        name="; ".join((f"bill, {bill.rows:,} rows", *map(str, bill.rates))),
        origin=request.bill.name,
        as_of=f"{start} to {end}",
        sha256=sha256_of(request.bill),
    )
    return bill, (source,)


def _previous(request: ReviewRequest) -> tuple[PreviousReview | None, tuple[ReviewSource, ...]]:
    if request.previous is None:
        return None, ()
    file = request.previous
    if isinstance(file, Path):
        file = NamedBytes(file.name, read_bytes(file, most_bytes=MAX_BYTES), path=str(file))
    with errors_about(file):
        previous = read_previous_review(file.data, before=request.quarter)
    return previous, (_source(f"review of {previous.quarter.name}", file.name, file.data),)


def _projection_check(records: QuarterRecords | UnknownFigure) -> ProjectionCheck | None:
    is_projected = isinstance(records, QuarterRecords) and records.projections
    return projection_check() if is_projected else None


def _read_plan_files(
    plan: ProcurementPlan, request: ReviewRequest, sheet: PriceSheet
) -> _PlanFiles:
    use, use_sources = _labelled_usage(plan.usage, request)
    activity, activity_sources = _activity(plan.usage, request)
    waits, waits_source = _waits(plan.usage, request)
    forecast, past_sources = _forecast(plan.forecast, request, sheet)
    return _PlanFiles(
        use=use,
        activity=activity,
        waits=waits,
        policies=_policies(plan.usage, request),
        forecast=forecast,
        sources=(*use_sources, *activity_sources, *waits_source, *past_sources),
    )


def _labelled_usage(
    usage_files: UsageFiles | None, request: ReviewRequest
) -> tuple[LabelledUsage | None, tuple[ReviewSource, ...]]:
    if usage_files is None or not usage_files.files:
        return None, ()
    files = _read_input_files(usage_files.files, ImportKind.USAGE, request)
    usages = read_usages(files)
    labels = label_names(usages, team=usage_files.team, project=usage_files.project)
    sources = tuple(
        _source(f"usage, {usage.kind}", file.name, file.data)
        for usage, file in zip(usages, files, strict=True)
    )
    return LabelledUsage(usages=usages, labels=labels), sources


def _activity(
    usage_files: UsageFiles | None, request: ReviewRequest
) -> tuple[tuple[ShareStatement, ...], tuple[ReviewSource, ...]]:
    if usage_files is None or not usage_files.activity:
        return (), ()
    files = _read_input_files(usage_files.activity, ImportKind.ACTIVITY, request)
    quarter = request.quarter
    shares = busy_share(
        [read_activity_file(file) for file in files],
        start=quarter.first,
        end=quarter.after.first,
    )
    return shares, tuple(_source("activity", file.name, file.data) for file in files)


def _waits(
    usage_files: UsageFiles | None, request: ReviewRequest
) -> tuple[RecordedWaits | None, tuple[ReviewSource, ...]]:
    if usage_files is None or usage_files.jobs is None:
        return None, ()
    (file,) = _read_input_files((usage_files.jobs,), ImportKind.JOBS, request)
    with errors_about(file):
        log = read_job_log(file.text)
    quarter = request.quarter
    waits = recorded_waits(
        log.jobs,
        log=file.name,
        quarter=quarter,
        objective=usage_files.objective,
        gaps=gaps_between(log.gaps, *quarter_seconds(quarter)),
    )
    return waits, (_source("job log", file.name, file.data),)


def _policies(usage_files: UsageFiles | None, request: ReviewRequest) -> PolicyComparison | None:
    """Replay the quarter's jobs under the plan's policies on the plan's nodes."""
    if usage_files is None or usage_files.jobs is None or usage_files.replay is None:
        return None
    replay = usage_files.replay
    (file,) = _read_input_files((usage_files.jobs,), ImportKind.JOBS, request)
    return compare_policies(
        file,
        ClusterNodes(file=None, nodes=replay.nodes, devices=replay.devices),
        replay.policies,
        DEFAULT_SETTINGS,
        format_=None,
        rate=None,
        quarter=request.quarter,
    )


def _forecast(
    planned: PlannedForecast | None, request: ReviewRequest, sheet: PriceSheet
) -> tuple[Forecasts | None, tuple[ReviewSource, ...]]:
    if planned is None:
        return None, ()
    files = _read_input_files(planned.files, ImportKind.USAGE, request)
    terms = ForecastRequest(step=planned.step, periods=planned.periods, today=request.today)
    rate = None if planned.at is None else rate_of(sheet, planned.at, today=request.today)
    forecast = forecast_files(files, terms, rate=rate)
    return forecast, tuple(
        _source("hours and money of the past", each.name, each.data) for each in files
    )


def _read_input_files(
    names: Sequence[str], kind: ImportKind, request: ReviewRequest
) -> tuple[NamedBytes, ...]:
    """Return the files that a plan names, and the imports of each `store:SOURCE`."""
    return tuple(file for name in names for file in _read_input_file(name, kind, request))


def _read_input_file(name: str, kind: ImportKind, request: ReviewRequest) -> tuple[NamedBytes, ...]:
    source = name.removeprefix(STORE_PREFIX)
    if source == name:
        most_bytes = MAX_LOG_BYTES if kind is ImportKind.JOBS else MAX_USAGE_BYTES
        file = read_named(request.plan.parent / name, most_bytes=most_bytes)
        return (replace(file, name=name),)
    engine = _engine(request.database_url)
    if engine is None:
        msg = (
            f"the plan's {name!r} is an import, but there is no service database: set "
            "PERFLEDGER_DATABASE_URL, or name files beside the plan"
        )
        raise UsageError(msg)
    try:
        if kind is ImportKind.JOBS:
            return (newest_log(engine, source=source),)
        return stored_files(engine, kind, source=source)
    finally:
        engine.dispose()


def _engine(database_url: str) -> Engine | None:
    """Open the service's database, None without one; the caller disposes of it."""
    url = make_url(database_url) if database_url else None
    if url is None or (
        url.get_backend_name() == "sqlite" and not Path(url.database or "").exists()
    ):
        return None
    return open_engine(database_url)


def _source(what: str, origin: str, data: bytes) -> ReviewSource:
    return ReviewSource(name=what, origin=origin, as_of="", sha256=sha256(data).hexdigest())

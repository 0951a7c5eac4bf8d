"""A plan, the store or bundles, a bill and the last review in, the quarter's review out."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date
from hashlib import sha256
from pathlib import Path

from sqlalchemy.engine import Engine, make_url

from perfledger_cost_models.focus import Bill
from perfledger_cost_models.forecast import Forecasts
from perfledger_cost_models.held_hours import label_names
from perfledger_cost_models.job_log import MAX_LOG_BYTES, read_job_log
from perfledger_cost_models.last_review import MAX_BYTES, LastReview, read_last
from perfledger_cost_models.parameter import (
    packaged_parameters,
    packaged_text as parameters_text,
)
from perfledger_cost_models.policy_gain import PolicyComparison
from perfledger_cost_models.procurement_plan import (
    MAX_CHARACTERS,
    Plan,
    PlannedForecast,
    Used,
    read_plan,
)
from perfledger_cost_models.projection import ProjectionCheck
from perfledger_cost_models.quarter import Quarter, quarter_of
from perfledger_cost_models.quarterly_review import Facts, review_of
from perfledger_cost_models.recorded_waits import RecordedWaits, recorded_waits
from perfledger_cost_models.review import Review, Source, Unknown
from perfledger_cost_models.review_records import Records
from perfledger_cost_models.sheet import PriceSheet, packaged_sheet, packaged_text
from perfledger_cost_models.showback import Use
from perfledger_cost_models.usage import MAX_USAGE_BYTES
from perfledger_service.errors import UsageError
from perfledger_service.settings import PriceSettings
from perfledger_service.store.database import open_engine
from perfledger_service.usecases.bills import read_bill
from perfledger_service.usecases.fleets import read_usages
from perfledger_service.usecases.forecasting import Ahead, forecast_files
from perfledger_service.usecases.importing import newest_log, stored_files
from perfledger_service.usecases.price_books import read_books, text_of_file
from perfledger_service.usecases.quarter_projections import (
    Elsewhere,
    elsewhere_of,
    projection_check,
)
from perfledger_service.usecases.quarter_records import records_of_bundles, records_of_store
from perfledger_service.usecases.scheduling import AS_NAMED, Hardware, compare_policies
from perfledger_service.usecases.text_files import (
    NamedBytes,
    read_bytes,
    read_named,
    read_text,
    sha256_of,
)
from perfledger_service.usecases.translating import translated
from perfledger_service.views import ImportKind

BYTES_PER_CHARACTER = 4  # of UTF-8, at most
STORED = "store:"  # in a plan, before a source of what was imported, in place of a file's name
HOW_RECORDS = "PERFLEDGER_DATABASE_URL of the service's database, or --bundles FOLDER"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Beside:
    """What the files beside a plan tell, None where it names none; and those files."""

    use: Use | None
    waits: RecordedWaits | None
    policies: PolicyComparison | None
    forecast: Forecasts | None
    sources: tuple[Source, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What a review is made from, as it was asked for; None where it was not."""

    quarter: Quarter
    today: date
    plan: Path
    bundles: Path | None
    database_url: str
    bill: Path | None
    team_tag: str
    prices: PriceSettings
    last: Path | None
    is_stale_allowed: bool


def quarter_named(name: str) -> Quarter:
    """Return the quarter of a name such as 2026Q4; raises UsageError."""
    with translated():
        return quarter_of(name)


def review(asked: Asked) -> Review:
    """Return the review of a quarter; raises UsageError and NotFoundError."""
    with translated():
        plan_text = read_text(asked.plan, most_bytes=BYTES_PER_CHARACTER * MAX_CHARACTERS)
        plan = read_plan(plan_text, asked.plan.name)
        books, prices_source = read_books(asked.prices), _prices_source(asked.prices)
        elsewhere = elsewhere_of(plan, sheet=books.sheet, today=asked.today)
        records, records_source = _records(asked, elsewhere)
        bill, bill_source = _bill(asked)
        last, last_source = _last(asked)
        beside = _beside(plan, asked, books.sheet)
        sources = (
            _source("plan", asked.plan.name, plan_text.encode()),
            *prices_source,
            _source("inputs of owning", packaged_parameters().name, parameters_text().encode()),
            *records_source,
            *bill_source,
            *last_source,
            *beside.sources,
        )
        return review_of(
            Facts(
                quarter=asked.quarter,
                today=asked.today,
                plan=plan,
                sheet=books.sheet,
                parameters=books.parameters,
                records=records,
                bill=bill,
                bill_name="" if asked.bill is None else asked.bill.name,
                last=last,
                sources=sources,
                use=beside.use,
                waits=beside.waits,
                policies=beside.policies,
                forecast=beside.forecast,
                projection_check=_projection_check(records),
                is_stale_allowed=asked.is_stale_allowed,
            )
        )


def _prices_source(settings: PriceSettings) -> tuple[Source, ...]:
    """Return the layers of prices, the lowest first, each with its hash."""
    layers = {
        "fetched prices": settings.prices,
        "own prices and inputs": settings.overrides,
        "contract": settings.contract,
    }
    packaged = _source("price sheet", packaged_sheet().name, packaged_text().encode())
    return packaged, *(
        _source(what, Path(name).name, text_of_file(Path(name)).encode())
        for what, name in layers.items()
        if name
    )


def _records(asked: Asked, elsewhere: Elsewhere) -> tuple[Records | Unknown, tuple[Source, ...]]:
    if asked.bundles is not None:
        found = records_of_bundles(asked.bundles, asked.quarter, elsewhere=elsewhere)
        return found, (_records_source(found, asked.quarter),)
    engine = _engine(asked.database_url)
    if engine is None:
        why = "there is no database of the service here, and no bundles were given"
        return Unknown(what="measured records", why=why, how=HOW_RECORDS), ()
    try:
        origin = f"the store {engine.url.render_as_string(hide_password=True)}"
        found = records_of_store(engine, asked.quarter, origin=origin, elsewhere=elsewhere)
    finally:
        engine.dispose()
    return found, (_records_source(found, asked.quarter),)


def _records_source(records: Records, quarter: Quarter) -> Source:
    what = f"{records.checks:,} checks, {records.observations:,} observations"
    return Source(what=what, origin=records.origin, as_of=f"{quarter.first} to {quarter.last}")


def _bill(asked: Asked) -> tuple[Bill | None, tuple[Source, ...]]:
    if asked.bill is None:
        return None, ()
    bill = read_bill(asked.bill, team_tag=asked.team_tag)
    start, end = bill.start.date(), bill.end.date()
    if start < asked.quarter.first or end > asked.quarter.after.first:
        msg = (
            f"{asked.bill.name} is of {start} to {end}, which is not within {asked.quarter.name}: "
            "export that quarter"
        )
        raise UsageError(msg)
    what = f"bill, {bill.rows:,} rows"
    source = Source(
        what=what,
        origin=asked.bill.name,
        as_of=f"{start} to {end}",
        sha256=sha256_of(asked.bill),
    )
    return bill, (source,)


def _last(asked: Asked) -> tuple[LastReview | None, tuple[Source, ...]]:
    if asked.last is None:
        return None, ()
    data = read_bytes(asked.last, most_bytes=MAX_BYTES)
    found = read_last(data, before=asked.quarter)
    return found, (_source(f"review of {found.quarter.name}", asked.last.name, data),)


def _projection_check(records: Records | Unknown) -> ProjectionCheck | None:
    is_projected = isinstance(records, Records) and records.projected
    return projection_check() if is_projected else None


def _beside(plan: Plan, asked: Asked, sheet: PriceSheet) -> _Beside:
    use, use_sources = _use(plan.usage, asked)
    waits, waits_source = _waits(plan.usage, asked)
    forecast, past_sources = _forecast(plan.forecast, asked, sheet)
    return _Beside(
        use=use,
        waits=waits,
        policies=_policies(plan.usage, asked),
        forecast=forecast,
        sources=(*use_sources, *waits_source, *past_sources),
    )


def _use(used: Used | None, asked: Asked) -> tuple[Use | None, tuple[Source, ...]]:
    if used is None or not used.files:
        return None, ()
    files = _given(used.files, ImportKind.USAGE, asked)
    usages = read_usages(files)
    labels = label_names(usages, team=used.team, project=used.project)
    sources = tuple(
        _source(f"usage, {usage.kind}", file.name, file.data)
        for usage, file in zip(usages, files, strict=True)
    )
    return Use(usages=usages, labels=labels), sources


def _waits(used: Used | None, asked: Asked) -> tuple[RecordedWaits | None, tuple[Source, ...]]:
    if used is None or used.jobs is None:
        return None, ()
    (file,) = _given((used.jobs,), ImportKind.JOBS, asked)
    jobs = read_job_log(file.text).jobs
    found = recorded_waits(jobs, log=file.name, quarter=asked.quarter, objective=used.objective)
    return found, (_source("job log", file.name, file.data),)


def _policies(used: Used | None, asked: Asked) -> PolicyComparison | None:
    """Return what the plan's policies would do with the quarter's jobs on the plan's nodes."""
    if used is None or used.jobs is None or used.replay is None:
        return None
    replay = used.replay
    (file,) = _given((used.jobs,), ImportKind.JOBS, asked)
    return compare_policies(
        file,
        Hardware(file=None, nodes=replay.nodes, devices=replay.devices),
        replay.policies,
        AS_NAMED,
        format_=None,
        option=None,
        today=asked.today,
        quarter=asked.quarter,
    )


def _forecast(
    planned: PlannedForecast | None, asked: Asked, sheet: PriceSheet
) -> tuple[Forecasts | None, tuple[Source, ...]]:
    if planned is None:
        return None, ()
    files = _given(planned.files, ImportKind.USAGE, asked)
    ahead = Ahead(step=planned.step, periods=planned.periods, budget=None)
    found = forecast_files(files, ahead, option=planned.at, today=asked.today, sheet=sheet)
    return found, tuple(
        _source("hours and money of the past", each.name, each.data) for each in files
    )


def _given(names: Sequence[str], kind: ImportKind, asked: Asked) -> tuple[NamedBytes, ...]:
    """Return the files beside the plan, and for `store:SOURCE` those that were imported of it."""
    return tuple(file for name in names for file in _named(name, kind, asked))


def _named(name: str, kind: ImportKind, asked: Asked) -> tuple[NamedBytes, ...]:
    source = name.removeprefix(STORED)
    if source == name:
        most_bytes = MAX_LOG_BYTES if kind is ImportKind.JOBS else MAX_USAGE_BYTES
        file = read_named(asked.plan.parent / name, most_bytes=most_bytes)
        return (replace(file, name=name),)
    engine = _engine(asked.database_url)
    if engine is None:
        msg = (
            f"the plan's {name!r} is of what was imported, and there is no database of the service "
            "here: set PERFLEDGER_DATABASE_URL, or name files beside the plan"
        )
        raise UsageError(msg)
    try:
        if kind is ImportKind.JOBS:
            return (newest_log(engine, source=source),)
        return stored_files(engine, kind, source=source)
    finally:
        engine.dispose()


def _engine(database_url: str) -> Engine | None:
    """Open the service's database; None where there is none. Whoever asked disposes of it."""
    url = make_url(database_url) if database_url else None
    if url is None or (
        url.get_backend_name() == "sqlite" and not Path(url.database or "").exists()
    ):
        return None
    return open_engine(database_url)


def _source(what: str, origin: str, data: bytes) -> Source:
    return Source(what=what, origin=origin, as_of="", sha256=sha256(data).hexdigest())

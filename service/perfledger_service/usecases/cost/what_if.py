"""Compares purchase options for the what-if form on the cost page."""

from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import date
from functools import lru_cache
from threading import Lock

from perfledger.rounding import integer, typed
from perfledger.time_units import HOURS_PER_YEAR, SECONDS_PER_HOUR
from perfledger_cost_models.tco.horizon import Horizon
from perfledger_cost_models.tco.restart_time import RESTART_SECONDS
from perfledger_cost_models.tco.spot_interruption import InterruptionModel
from perfledger_profiles.parsing.text_table import is_number
from perfledger_service.errors import NotFoundError, UsageError
from perfledger_service.usecases.cost.compare import compare_costs
from perfledger_service.usecases.cost.option_names import ON_PREM, accelerators_named
from perfledger_service.usecases.cost.purchase_options import CostRequest, use_of
from perfledger_service.usecases.cost.tco import cost_of_owning
from perfledger_service.usecases.inputs.error_translation import translate_errors
from perfledger_service.usecases.inputs.price_books import PriceBooks
from perfledger_service.values.cost_views import (
    COST_NUMBERS,
    CostForm,
    CostView,
    OwningView,
    WhatIfView,
)

OPTION_NAMES = (ON_PREM, "p4d", "p5", "tpu-v4")
# Comparisons kept in memory; one takes half a second to compute.
MAX_COMPARISONS = 64
MIN_JOB_H = 0.01

_Comparison = tuple[CostView, OwningView | None]
# A comparison keeps a core busy: many requests at once may occupy one core, not all.
_one_at_a_time = Lock()


class _FieldError(Exception):
    """An invalid field of the form: its name, and what to do."""

    def __init__(self, message: str, *, field: str) -> None:
        super().__init__(message)
        self.field = field


def what_if(books: PriceBooks, form: CostForm, *, today: date) -> WhatIfView:
    """Return the comparison of a form, or its invalid field and what is wrong with it."""
    problems: dict[str, str] = {}
    try:
        request = _request(books, form, today=today)
        comparison, owning = _compare(books, request)
    except _FieldError as error:
        problems[error.field] = str(error)
        request, comparison, owning = None, None, None
    return WhatIfView(
        form=form,
        option_names=OPTION_NAMES,
        command=("perfledger", "cost", "compare", *_options(form)),
        use=None if request is None else request.use,
        comparison=comparison,
        owning=owning,
        problems=problems,
    )


def _request(books: PriceBooks, form: CostForm, *, today: date) -> CostRequest:
    """Return the request in a form; raise _FieldError for its first invalid field."""
    use, assumed = use_of(books, _number(form, "allocated_percent"))
    with _blaming("allocated_percent"):
        request = CostRequest(use=use, assumed=assumed, today=today, shows_all=form.shows_all)
    with _blaming("at"):
        option_names = form.at or OPTION_NAMES
        accelerators = accelerators_named(books.sheet, books.servers, option_names)
    years, job_h = _years(form), _number(form, "job_hours")
    if job_h is not None and job_h > years * HOURS_PER_YEAR:
        msg = (
            f"a job of {typed(job_h)} hours does not end within {int(years)} years "
            f"({integer(years * HOURS_PER_YEAR)} hours): shorten it, or choose more years"
        )
        raise _FieldError(msg, field="job_hours")
    if job_h is not None and 0 < job_h < MIN_JOB_H:
        msg = f"a job of {typed(job_h)} hours: give at least {typed(MIN_JOB_H)}"
        raise _FieldError(msg, field="job_hours")
    with _blaming("job_hours"):
        request = replace(request, job_h=job_h)
    return replace(
        request,
        option_names=option_names,
        accelerators=accelerators,
        terms=replace(request.terms, years=years),
        interruptions=_interruptions(form),
    )


def _years(form: CostForm) -> Horizon:
    if not form.years:
        return Horizon.FIVE
    if form.years not in {str(int(each)) for each in Horizon}:
        horizons = " or ".join(str(int(each)) for each in Horizon)
        msg = f"a horizon of {form.years} years: give {horizons}, which have a residual value"
        raise _FieldError(msg, field="years")
    return Horizon(int(form.years))


def _interruptions(form: CostForm) -> InterruptionModel | None:
    per_hour = _number(form, "interruptions_per_hour")
    seconds = _number(form, "checkpoint_seconds")
    if per_hour is None and seconds is None:
        return None
    if seconds is None:
        msg = "a rate of interruptions needs the time to save a checkpoint: give that, too"
        raise _FieldError(msg, field="checkpoint_seconds")
    if per_hour is None:
        msg = "a time to save a checkpoint needs a rate of interruptions: give that, too"
        raise _FieldError(msg, field="interruptions_per_hour")
    if seconds <= 0:
        msg = f"{typed(seconds)} seconds to save a checkpoint: give a number above 0"
        raise _FieldError(msg, field="checkpoint_seconds")
    with _blaming("interruptions_per_hour"), translate_errors():
        return InterruptionModel(
            per_hour=per_hour,
            save_h=seconds / SECONDS_PER_HOUR,
            restart_h=RESTART_SECONDS / SECONDS_PER_HOUR,
        )


def _number(form: CostForm, field: str) -> float | None:
    """Return a field's number, None if it is empty; raise _FieldError if it is not a number."""
    text = str(getattr(form, field)).strip()
    if not text:
        return None
    if not is_number(text):
        msg = f"{text!r} is not a number: give one such as 60 or 2.5"
        raise _FieldError(msg, field=field)
    return float(text)


@contextmanager
def _blaming(field: str) -> Generator[None]:
    """Raise errors in the input as errors of a field."""
    try:
        yield
    except (NotFoundError, UsageError) as error:
        raise _FieldError(str(error), field=field) from error


@lru_cache(maxsize=MAX_COMPARISONS)
def _compare(books: PriceBooks, request: CostRequest) -> _Comparison:
    """Return the comparison, and the cost of owning the server that the answer refers to."""
    field = "at" if request.interruptions is None else "checkpoint_seconds"
    with _one_at_a_time, _blaming(field):
        comparison = compare_costs(books, request)
        answer = comparison.answer
        if answer is None or answer.owned is None:
            return comparison, None
        return comparison, cost_of_owning(books, answer.owned.cost.name, request)


def _options(form: CostForm) -> Iterator[str]:
    """Yield the options of the equivalent command."""
    yield from ("--at", ",".join(form.at or OPTION_NAMES))
    for field in COST_NUMBERS:
        if text := str(getattr(form, field)).strip():
            yield from (f"--{field.replace('_', '-')}", text)
    if form.shows_all:
        yield "--all"

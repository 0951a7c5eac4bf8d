"""Turn the settings in an export of GenAI-Perf or AIPerf into the load that was asked for."""

from collections.abc import Iterator

from perfledger.profile import Reading
from perfledger_profiles.documents import Document, document_of, figure_of, values_of

# What right-sizing reads of P99s at random times: at even ones hardly a request meets another.
EVEN_ARRIVALS = (
    "requests were sent at even times, at which a P99 is shorter than at random ones: measure with "
    "Poisson arrivals"
)
_SAID = ("concurrency", "request_rate", "rate")
# How AIPerf calls arrivals at random times: GenAI-Perf has none.
_POISSON = "poisson"
# Whom AIPerf hung up on itself (--request-cancellation-rate): no server failed these.
_CANCELLED = "RequestCancellationError"


def asked_load(document: Document) -> Iterator[Reading]:
    """Yield the offered rate and the most requests at once, as far as an export has them."""
    load = _load(document)
    rate = figure_of(load.get("request_rate")) or figure_of(load.get("rate"))
    if rate is not None and rate > 0:
        yield Reading(name="offered_rate", value=rate, unit="1/s", source="input_config")
    concurrency = figure_of(load.get("concurrency"))
    if concurrency is not None and concurrency > 0:
        yield Reading(name="max_concurrency", value=concurrency, source="input_config")


def has_even_arrivals(document: Document) -> bool:
    """Return whether an export's requests came at a rate, and not at random times."""
    load = _load(document)
    is_rate = any(reading.name == "offered_rate" for reading in asked_load(document))
    return is_rate and _POISSON not in (load.get("request_rate_mode"), load.get("type"))


def cancelled_requests(document: Document) -> float:
    """Return how many requests the tool itself broke off, as it was told to."""
    counts = (
        figure_of(document_of(each).get("count")) or 0.0
        for each in values_of(document.get("error_summary"))
        if document_of(document_of(each).get("error_details")).get("type") == _CANCELLED
    )
    return sum(counts)


def _load(document: Document) -> Document:
    """Return the settings of the load, wherever this version of the tool has them.

    GenAI-Perf's before and since it reads configuration files, then AIPerf's before and since 0.8,
    which has phases: of several that count none is what the figures are of.
    """
    settings = document_of(document.get("input_config"))
    phases = [document_of(each) for each in values_of(settings.get("phases"))]
    counted = [each for each in phases if not each.get("exclude_from_results")]
    places = (
        settings,
        document_of(document_of(settings.get("perf_analyzer")).get("stimulus")),
        document_of(settings.get("loadgen")),
        *(counted if len(counted) == 1 else ()),
    )
    said = (each for each in places if any(each.get(key) for key in _SAID))
    return next(said, document_of(None))

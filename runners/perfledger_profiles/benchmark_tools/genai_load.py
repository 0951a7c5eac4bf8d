"""Reads the requested load from a GenAI-Perf or AIPerf export."""

from collections.abc import Iterator

from perfledger.profile import ProfileReading
from perfledger_profiles.parsing.json_documents import Document, document_of, figure_of, values_of

# Right-sizing needs P99s at random arrivals: at even intervals requests hardly overlap.
EVEN_ARRIVALS = (
    "requests were sent at even intervals, so the P99 is shorter than with random arrivals: "
    "measure with Poisson arrivals"
)
_LOAD_KEYS = ("concurrency", "request_rate", "rate")
# AIPerf's word for random arrivals; GenAI-Perf has none.
_POISSON = "poisson"
# Requests that AIPerf itself cancelled (--request-cancellation-rate): the server did not fail.
_CANCELLED = "RequestCancellationError"


def requested_load(document: Document) -> Iterator[ProfileReading]:
    """Yield the offered rate and the maximum concurrency, if the export has them."""
    load = _load(document)
    rate = figure_of(load.get("request_rate")) or figure_of(load.get("rate"))
    if rate is not None and rate > 0:
        yield ProfileReading(name="offered_rate", value=rate, unit="1/s", source="input_config")
    concurrency = figure_of(load.get("concurrency"))
    if concurrency is not None and concurrency > 0:
        yield ProfileReading(name="max_concurrency", value=concurrency, source="input_config")


def has_even_arrivals(document: Document) -> bool:
    """Return whether an export's requests were sent at even intervals."""
    load = _load(document)
    is_rate = any(reading.name == "offered_rate" for reading in requested_load(document))
    return is_rate and _POISSON not in (load.get("request_rate_mode"), load.get("type"))


def cancelled_requests(document: Document) -> float:
    """Return how many requests the tool cancelled on purpose."""
    counts = (
        figure_of(document_of(each).get("count"))
        for each in values_of(document.get("error_summary"))
        if document_of(document_of(each).get("error_details")).get("type") == _CANCELLED
    )
    return sum(filter(None, counts))


def _load(document: Document) -> Document:
    """Return the settings of the load, wherever this version of the tool stores them.

    In order: GenAI-Perf's, before and since it reads configuration files, then AIPerf's, before and
    since 0.8, which has phases. If several phases are counted, the metrics belong to none of them.
    """
    settings = document_of(document.get("input_config"))
    phases = [document_of(each) for each in values_of(settings.get("phases"))]
    counted = [each for each in phases if not each.get("exclude_from_results")]
    sections = (
        settings,
        document_of(document_of(settings.get("perf_analyzer")).get("stimulus")),
        document_of(settings.get("loadgen")),
        *(counted if len(counted) == 1 else ()),
    )
    settings_with_load = (each for each in sections if any(each.get(key) for key in _LOAD_KEYS))
    return next(settings_with_load, document_of(None))

"""Presents the canaries of a machine."""

from collections import Counter
from collections.abc import Iterator

from perfledger_service.rendering.layout import number_format
from perfledger_service.rendering.layout.document import (
    NO_FIGURE,
    CellKind,
    Column,
    Document,
    Paragraph,
    TextStyle,
    attributes,
    display,
    facts,
    figure,
    name,
    notes,
    sentences,
    table,
    title,
    words,
)
from perfledger_service.rendering.layout.escape import clean
from perfledger_service.rendering.layout.host_sentences import busy_sentence
from perfledger_service.values.doctor_views import CanaryResult, CanaryState, CanaryView

_MEANING = (
    "A canary is slow if its whole interval is below three quarters of what the best known "
    "program reaches on the device. Without an expected rate for the device it is unknown, "
    "neither slow nor fine. The rate of an all-reduce is its bus bandwidth, as in nccl-tests."
)
_STYLES = {CanaryState.SLOW: TextStyle.WORSE, CanaryState.NOT_MEASURED: TextStyle.MISSING}


def _rate(result: CanaryResult, per_second: float | None) -> str:
    return NO_FIGURE if per_second is None else number_format.unit_rate(per_second, result.unit)


def _share(result: CanaryResult) -> float | None:
    """Return the rate as a share of the expected one."""
    if result.per_second is None or not result.expected_per_second:
        return None
    return result.per_second / result.expected_per_second


def _remark(result: CanaryResult) -> str:
    """Return the source of the expected rate; a note below the table says why one is unknown."""
    return "" if result.state is CanaryState.UNKNOWN else result.basis


_COLUMNS: tuple[Column[CanaryResult], ...] = (
    name("canary", "canary", lambda each: each.name),
    words("framework", "in", lambda each: each.framework),
    display("rate", lambda each: _rate(each, each.per_second)),
    display("expected", lambda each: _rate(each, each.expected_per_second)),
    figure("share", "share", _share, number_format.share),
    words("state", "state", lambda each: each.state),
    display("of", _remark, kind=CellKind.REMARK),
    *facts("basis", "params", "devices", "device", "unit", "per_second", "low_per_second"),
    *facts("high_per_second", "expected_per_second"),
)


def canaries_document(view: CanaryView) -> Document:
    """Return the rate of each canary beside the expected one."""
    model = clean(view.machine.model)
    count = f"{view.machine.count} x " if view.machine.count > 1 else ""
    busy = busy_sentence(view.findings)
    return Document(
        name="perfledger-canaries",
        facts={**attributes(view, "machine", "findings", "notes")},
        blocks=(
            title(f"Canaries on {count}{model}", names=(model,)),
            *sentences([_summary(view)]),
            *((Paragraph(text=busy, style=TextStyle.WARNING),) if busy else ()),
            table(
                _COLUMNS,
                view.results,
                key="canaries",
                style=lambda each: _STYLES.get(each.state, TextStyle.PLAIN),
            ),
            *notes([*_unknown_reasons(view), *view.notes, _MEANING]),
        ),
    )


def _unknown_reasons(view: CanaryView) -> Iterator[str]:
    reasons = Counter(each.basis for each in view.results if each.state is CanaryState.UNKNOWN)
    for reason, count in reasons.items():
        yield f"unknown ({count}): {reason}"


def _summary(view: CanaryView) -> str:
    counts = Counter(each.state for each in view.results)
    return f"{', '.join(f'{counts[state]} {state}' for state in CanaryState if counts[state])}."

"""Presents the time of a statement, with the spread of each process."""

import math
from collections.abc import Iterator

from perfledger_service.rendering.layout import number_format
from perfledger_service.rendering.layout.document import (
    Block,
    Document,
    Paragraph,
    Preformatted,
    TextStyle,
    attributes,
    facts,
    notes,
    sentences,
    table,
    title,
)
from perfledger_service.rendering.layout.escape import clean
from perfledger_service.rendering.layout.host_sentences import busy_sentence
from perfledger_service.values.timed_statement import TimedProcess, TimedStatement

_MAX_STATEMENT = 200
_WIDTH = 78  # columns of the picture
_LINE, _BOX, _TYPICAL = (
    "\N{BOX DRAWINGS LIGHT HORIZONTAL}",
    "\N{BOX DRAWINGS HEAVY HORIZONTAL}",
    "\N{BLACK CIRCLE}",
)
_MAX_LINES = 20  # of the picture; the JSON has all processes
_MEANING = (
    "One line per process: the middle 90 % of its readings (thin), the middle half (thick) and "
    "its typical time (dot). The interval is that of the typical times. Garbage collection "
    "stays on, unlike in timeit."
)


def time_document(timed: TimedStatement) -> Document:
    """Return the typical time with its interval, and a picture of the readings."""
    text = clean(timed.statement, limit=_MAX_STATEMENT)
    return Document(
        name="perfledger-time",
        facts={
            **attributes(timed, "statement", "set_up", "typical_s", "low_s", "high_s", "calls"),
            **attributes(timed, "readings", "cpu_time_s", "memory_bytes", "machine", "findings"),
        },
        row_facts=("statement",),
        blocks=(
            title(text, names=(text,)),
            *sentences(_sentences(timed)),
            *_busy(timed),
            *_picture(timed),
            table(facts(*_FIELDS), timed.processes, key="processes"),
            *notes([_MEANING]),
        ),
    )


_FIELDS = ("typical_s", "p5_s", "p25_s", "p75_s", "p95_s", "readings")


def _sentences(timed: TimedStatement) -> Iterator[str]:
    typical = number_format.seconds(timed.typical_s)
    ends = number_format.interval(timed.low_s, timed.high_s, number_format.seconds)
    half = (timed.high_s - timed.low_s) / (2 * timed.typical_s)
    calls = "one call" if timed.calls == 1 else f"{timed.calls:,} calls"
    yield (
        f"{typical} a call: 95 % interval {ends} (±{number_format.share(half)}), from "
        f"{timed.readings:,} readings of {calls} in {len(timed.processes)} fresh processes."
    )
    parts: list[str] = []
    if timed.cpu_time_s is not None:
        parts.append(f"{number_format.seconds(timed.cpu_time_s)} of CPU time a call")
    if timed.memory_bytes is not None:
        parts.append(f"peak memory {number_format.byte_count(timed.memory_bytes)}")
    if parts:
        yield f"{', '.join(parts)[:1].upper()}{', '.join(parts)[1:]}."


def _busy(timed: TimedStatement) -> Iterator[Block]:
    if sentence := busy_sentence(timed.findings):
        yield Paragraph(text=sentence, style=TextStyle.WARNING)


def _picture(timed: TimedStatement) -> Iterator[Block]:
    """Yield each process's spread of readings, on one logarithmic scale."""
    drawn_processes = timed.processes[:_MAX_LINES]
    low, high = (
        min(each.p5_s for each in drawn_processes),
        max(each.p95_s for each in drawn_processes),
    )
    if not 0 < low < high:
        return
    ends = [number_format.seconds(each) for each in (low, high)]
    scale = ends[0] + ends[1].rjust(_WIDTH - len(ends[0]))
    lines = (_spread(each, low, high) for each in drawn_processes)
    yield Preformatted("\n".join((scale, *lines)))


def _spread(process: TimedProcess, low: float, high: float) -> str:
    def at(value: float) -> int:
        share = math.log(value / low) / math.log(high / low)
        return round(min(1.0, max(0.0, share)) * (_WIDTH - 1))

    line = [" "] * _WIDTH
    ends = ((process.p5_s, process.p95_s, _LINE), (process.p25_s, process.p75_s, _BOX))
    for first, last, mark in ends:
        line[at(first) : at(last) + 1] = [mark] * (at(last) - at(first) + 1)
    line[at(process.typical_s)] = _TYPICAL
    return "".join(line).rstrip()

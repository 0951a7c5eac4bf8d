"""Presents the throughput above which devices cost less than an API."""

from collections.abc import Iterator

from perfledger_service.rendering.cost.answer import usd_text
from perfledger_service.rendering.cost.compare import (
    MAX_OPTION,
    age_notes,
    option_with_mark,
    origin_of,
    superseded_notes,
)
from perfledger_service.rendering.layout import number_format
from perfledger_service.rendering.layout.document import (
    CellKind,
    Document,
    attributes,
    display,
    fact,
    facts,
    name,
    notes,
    sentences,
    table,
    title,
)
from perfledger_service.values.cost_views import ApiBreakEven, ApiView


def api_document(view: ApiView) -> Document:
    """Return the break-even throughput of each option."""
    names = (view.sheet, *(row.option.cost.name for row in view.rows))
    count = view.devices_per_replica
    return Document(
        name="perfledger-api",
        version=2,
        facts={
            **attributes(view.price, "input_usd", "output_usd", "output_share", "usd_per_million"),
            "allocated_share": view.use,
            **attributes(view, "devices_per_replica", "assumed", "unknown", "sheet"),
        },
        blocks=(
            title(_title(view)),
            *sentences(_answer(view), names=names),
            table(
                (
                    display(
                        "option",
                        lambda row: option_with_mark(row.option.cost.name, row.option),
                        kind=CellKind.NAME,
                        limit=MAX_OPTION,
                    ),
                    name("name", None, lambda row: row.option.cost.name),
                    name("accelerator", None, lambda row: row.option.cost.accelerator),
                    display("USD/h", lambda row: usd_text(row.option.cost.p50_usd)),
                    display(
                        "tokens/s of a replica" if count > 1 else "tokens/s of a device",
                        lambda row: _throughput(row, count),
                    ),
                    display("region and date", _origin, kind=CellKind.REMARK),
                    fact("usd_per_useful_hour", lambda row: row.option.cost.p50_usd),
                    fact("tokens_per_second_p5", lambda row: row.tokens_per_second[0]),
                    fact("tokens_per_second", lambda row: row.tokens_per_second[1]),
                    fact("tokens_per_second_p95", lambda row: row.tokens_per_second[2]),
                    *facts("region", "as_of", "is_read_date", "source", of="option.price"),
                ),
                view.rows,
                key="options",
            ),
            *notes(_notes(view), names=names),
        ),
    )


def _title(view: ApiView) -> str:
    price = view.price
    return (
        f"An API at {usd_text(price.usd_per_million)} USD per million tokens "
        f"({usd_text(price.input_usd)} input, {usd_text(price.output_usd)} output, "
        f"{number_format.margin(price.output_share)} of them output)"
    )


def _answer(view: ApiView) -> Iterator[str]:
    """Yield the lowest break-even of each accelerator, among its options that may rank."""
    first: dict[str, ApiBreakEven] = {}
    for row in view.rows:
        if row.option.may_rank:
            first.setdefault(row.option.cost.accelerator, row)
    if not first:
        yield "Unknown: no option here has a cost that can be ranked."
        return
    count = view.devices_per_replica
    parts = [
        f"{count} x {accelerator}" if count > 1 else f"one {accelerator}" for accelerator in first
    ]
    ends = [
        f"{part} from {_throughput(row, count)} tokens a second ({row.option.cost.name})"
        for part, row in zip(parts, first.values(), strict=True)
    ]
    yield (
        f"At an allocated share of {number_format.margin(view.use)} these cost less than the API: "
        f"{'; '.join(ends)}."
    )


def _throughput(row: ApiBreakEven, devices: int) -> str:
    low, middle, high = (number_format.count(each * devices) for each in row.tokens_per_second)
    return middle if low == high else f"{middle} ({low} to {high})"


def _origin(row: ApiBreakEven) -> str:
    return origin_of(row.option.price) if row.option.price else ""


def _notes(view: ApiView) -> Iterator[str]:
    yield (
        "Tokens per second, input and output together, as a mean over all allocated hours: cost of "
        "a useful hour / (3600 · price per million tokens / 10^6)."
    )
    kept_out = [row.option for row in view.rows if not row.option.may_rank]
    if any(not (option.is_doubtful or option.is_superseded) for option in kept_out):
        yield "Spot prices exclude interruptions."
    yield from superseded_notes(row.option for row in view.rows)
    if view.assumed:
        yield f"Assumed, not measured: {'; '.join(view.assumed)}."
    for words in view.unknown:
        yield f"Unknown: {words}."
    yield from age_notes(
        (each, row.option.cost.name) for row in view.rows for each in row.option.warnings
    )
    yield f"Prices: {view.sheet}; --format csv names the source of each."

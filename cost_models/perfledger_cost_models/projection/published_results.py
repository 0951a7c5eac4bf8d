"""Reads published benchmark results, and pairs them to ratios of two devices."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import combinations

from perfledger_cost_models.csv_table import SheetRow, read_rows

COLUMNS = (
    "round",
    "workload",
    "scenario",
    "accelerators",
    "device",
    "value",
    "unit",
    "published",
    "source",
)
# Systems with nearly equal numbers of devices are compared per device: a round has 4,216 and 4,096.
COUNT_TOLERANCE = 0.05
# For a time, smaller is faster; for a rate, larger is.
_IS_TIME = {"minutes": True, "samples_per_second": False}


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedResult:
    """The best published result of a device; `speed` is work per time of all its accelerators."""

    round: str
    workload: str  # the name of a descriptor
    scenario: str
    accelerators: int
    device: str  # key of the hardware table
    speed: float
    published: str
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedRatio:
    """The published speed of one device relative to another, in one round."""

    round: str
    workload: str
    scenario: str
    accelerators: int  # of the source
    source_device: str
    target_device: str
    speed: float  # target over source, per accelerator
    published: str
    source: str


def read_results(text: str, name: str) -> tuple[PublishedResult, ...]:
    """Read a table of published results; raises PriceSheetError that names the cell."""
    return tuple(_published_result(row) for row in read_rows(text, name, columns=COLUMNS))


def ratios_of(results: Sequence[PublishedResult]) -> tuple[PublishedRatio, ...]:
    """Return the ratio of every two devices with the same work in the same round, once."""
    return tuple(_ratios(results))


@cache
def packaged_ratios() -> tuple[PublishedRatio, ...]:
    """Return the ratios of MLPerf Training 2.0 to 3.0 and Inference 2.1 and 3.0."""
    text = files("perfledger_cost_models").joinpath("published.csv").read_text(encoding="utf-8")
    return ratios_of(read_results(text, "published.csv"))


def _ratios(results: Sequence[PublishedResult]) -> Iterator[PublishedRatio]:
    for source, target in combinations(results, 2):
        if source.device != target.device and _is_same_work(source, target):
            per_device = target.speed / target.accelerators * source.accelerators
            yield PublishedRatio(
                round=source.round,
                workload=source.workload,
                scenario=source.scenario,
                accelerators=source.accelerators,
                source_device=source.device,
                target_device=target.device,
                speed=per_device / source.speed,
                published=source.published,
                source=f"{source.source}; {target.source}",
            )


def _is_same_work(source: PublishedResult, target: PublishedResult) -> bool:
    few, many = sorted((source.accelerators, target.accelerators))
    return (source.round, source.workload, source.scenario) == (
        target.round,
        target.workload,
        target.scenario,
    ) and many <= few * (1 + COUNT_TOLERANCE)


def _published_result(row: SheetRow) -> PublishedResult:
    value = float(row.decimal("value"))
    accelerators = int(row.decimal("accelerators"))
    for column, number in (("value", value), ("accelerators", accelerators)):
        if not number:
            row.reject(column, "is not a result")
    is_time = _IS_TIME[row.one_of("unit", tuple(_IS_TIME))]
    return PublishedResult(
        round=row.text("round"),
        workload=row.text("workload"),
        scenario=row.text("scenario"),
        accelerators=accelerators,
        device=row.text("device"),
        speed=1 / value if is_time else value,
        published=row.text("published"),
        source=row.text("source"),
    )

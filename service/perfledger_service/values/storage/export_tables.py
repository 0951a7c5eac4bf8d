"""Defines the tables of an export, column by column; fields of the API keep their names."""

from dataclasses import dataclass

from perfledger_service.values.backups.manifest import ColumnKind


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportColumn:
    """A column of an exported table; one that is optional is empty where nothing is known."""

    name: str
    kind: ColumnKind
    meaning: str
    is_optional: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportTable:
    """A table of an export; the values of its key's columns together name a row."""

    name: str
    meaning: str
    key: tuple[str, ...]
    columns: tuple[ExportColumn, ...]


def _text(name: str, meaning: str) -> ExportColumn:
    return ExportColumn(name=name, kind=ColumnKind.TEXT, meaning=meaning)


def _integer(name: str, meaning: str, *, is_optional: bool = False) -> ExportColumn:
    kind = ColumnKind.INTEGER
    return ExportColumn(name=name, kind=kind, meaning=meaning, is_optional=is_optional)


def _number(name: str, meaning: str, *, is_optional: bool = False) -> ExportColumn:
    kind = ColumnKind.FLOAT
    return ExportColumn(name=name, kind=kind, meaning=meaning, is_optional=is_optional)


def _flag(name: str, meaning: str) -> ExportColumn:
    return ExportColumn(name=name, kind=ColumnKind.BOOLEAN, meaning=meaning)


def _time(name: str, meaning: str, *, is_optional: bool = False) -> ExportColumn:
    kind = ColumnKind.TIME
    return ExportColumn(name=name, kind=kind, meaning=meaning, is_optional=is_optional)


_REPOSITORY = _text("repository", "the project, owner/name")
_PULL_REQUEST = _integer("pull_request", "number of the pull request, if any", is_optional=True)
_MACHINE_CLASS = _text("machine_class", "class of the machine")
_MEASURED_AT = _time("measured_at", "when the runner measured")
_WORKLOAD = _text("workload", "name of the workload with its parameters")
_METRIC = _text("metric", "name of the metric; of a kernel family `kernel:FAMILY`")
_UNIT = _text("unit", "unit of the values")
_WORSE = _text("worse", "the direction in which values get worse: higher or lower")
_SERIES_FACTS = (_WORKLOAD, _METRIC, _UNIT, _WORSE, _MACHINE_CLASS)

SERIES = ExportTable(
    name="series",
    meaning="one metric of one workload on one machine class",
    key=("id",),
    columns=(_REPOSITORY, _integer("id", "number of the series"), *_SERIES_FACTS),
)
POINTS = ExportTable(
    name="points",
    meaning="what one run measured of one commit for one series",
    key=("series_id", "sha", "run_id"),
    columns=(
        _REPOSITORY,
        _integer("series_id", "number of the series"),
        *_SERIES_FACTS,
        _text("sha", "the commit"),
        _text("side", "base or head of its run"),
        _text("run_id", "the run"),
        _PULL_REQUEST,
        _integer("processes", "number of processes that measured"),
        _number("center", "the value, in the unit"),
        _number("low", "lower bound of the center, in the unit"),
        _number("high", "upper bound of the center, in the unit"),
        _MEASURED_AT,
        _time("committed_at", "date of the commit, by the runner's git", is_optional=True),
        _integer("branch_place", "place of the commit on the default branch", is_optional=True),
        _flag("is_attested", "false where only a bundle says whose commit it is"),
    ),
)
RUNS = ExportTable(
    name="runs",
    meaning="uploads of checks: what was measured and how it was judged",
    key=("id",),
    columns=(
        _REPOSITORY,
        _text("id", "the run"),
        _PULL_REQUEST,
        _text("base_sha", "commit of the base"),
        _text("head_sha", "commit of the head"),
        _text("head_subject", "first line of the head's message"),
        _MACHINE_CLASS,
        _text("sender", "who sent the bundle: runner, branch run or other run"),
        _text("status", "received, judged, posted, refused or failed"),
        _text("reason", "why it was refused or failed"),
        _text("conclusion", "the result of all verdicts; empty until it is judged"),
        _text("headline", "the report's first sentence; empty until it is judged"),
        _text("bundle_sha256", "SHA-256 of the bundle's JSON"),
        _MEASURED_AT,
        _time("received_at", "when the service received it"),
        _time("judged_at", "when it was judged", is_optional=True),
    ),
)
VERDICTS = ExportTable(
    name="verdicts",
    meaning="how one metric of one workload of one run was judged",
    key=("run_id", "workload", "metric"),
    columns=(
        _REPOSITORY,
        _text("run_id", "the run"),
        _PULL_REQUEST,
        _text("base_sha", "commit of the base"),
        _text("head_sha", "commit of the head"),
        _MACHINE_CLASS,
        _MEASURED_AT,
        _WORKLOAD,
        _METRIC,
        _UNIT,
        _WORSE,
        _text("outcome", "regressed, improved, unchanged, undecided or not measured"),
        _flag(
            "is_warning", "only the milder correction finds it, or a kernel lost and others more"
        ),
        _text("reason", "why it was judged so"),
        _integer("pairs", "number of pairs", is_optional=True),
        _number("base", "the base's value, in the unit", is_optional=True),
        _number("head", "the head's value, in the unit", is_optional=True),
        _number("change", "head / base - 1, a ratio: 0.1 is 10 % more", is_optional=True),
        _number("low", "lower bound of the change, a ratio", is_optional=True),
        _number("high", "upper bound of the change, a ratio", is_optional=True),
    ),
)
EVENTS = ExportTable(
    name="events",
    meaning="changes at one commit or of one pull request, with their state",
    key=("id",),
    columns=(
        _REPOSITORY,
        _integer("id", "number of the event"),
        _text("harm", "whether it is for the worse or for the better: worse or better"),
        _text("state", "open, acknowledged, expected, fixed or environment"),
        _text("reason", "why it is in this state"),
        _text("owner", "who takes care of it"),
        _text("set_by", "who set the state; empty for the measurements"),
        ExportColumn(
            name="until",
            kind=ColumnKind.DATE,
            meaning="last day on which it is expected",
            is_optional=True,
        ),
        _PULL_REQUEST,
        _text("after_sha", "it happened after this commit; empty where unknown"),
        _text("last_sha", "and up to this one; empty where unknown"),
        _text("merged_sha", "the commit as which the pull request was merged; else empty"),
        _text("fixed_sha", "the commit that undid it; else empty"),
        _flag("is_detected", "false where the newest search no longer finds it"),
        _time("opened_at", "when it was first found"),
        _time("changed_at", "when it entered this state"),
    ),
)
EVENT_SERIES = ExportTable(
    name="event_series",
    meaning="the series that an event changed, and by how much",
    key=("event_id", "workload", "metric", "machine_class"),
    columns=(
        _REPOSITORY,
        _integer("event_id", "number of the event"),
        _WORKLOAD,
        _METRIC,
        _MACHINE_CLASS,
        _number("change", "new level / old level - 1, a ratio"),
        _number("low", "lower bound of the change, a ratio"),
        _number("high", "upper bound of the change, a ratio"),
    ),
)
EXPORT_TABLES = (SERIES, POINTS, RUNS, VERDICTS, EVENTS, EVENT_SERIES)

"""Reads scrapes of dcgm-exporter."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from perfledger.profile import Profile, ProfiledDevice, ProfileReading
from perfledger.records import Side
from perfledger_profiles.benchmark_tools.dcgm_fields import DcgmField, FieldKind, field_of
from perfledger_profiles.parsing.errors import ProfileError
from perfledger_profiles.parsing.safe_names import clean_name
from perfledger_profiles.parsing.text_file import MAX_LINE_CHARACTERS, read_text
from perfledger_profiles.parsing.units import MAX_NUMBER_CHARACTERS
from perfledger_profiles.timeline.summarised_profile import MAX_VALUE, summary_profile

TOOL = "dcgm-exporter"
# A share divides two counters that are read at slightly different times.
MAX_SHARE = 1.05
BLANK = "values that DCGM marks as not supported or not permitted: {}"
SEVERAL_MODELS = "the scrape has several device models: the first is shown"

# dcgm_fields.h: DCGM_INT32_BLANK, DCGM_INT64_BLANK and DCGM_FP64_BLANK, each followed by up to 15
# reasons. Integers are compared as integers, because floats cannot distinguish the 64-bit ones.
_BLANKS = (0x7FFFFFF0, 0x7FFFFFFFFFFFFFF0, 2**47)
_REASONS = 16
_MODEL_LABELS = ("modelName", "model_name")
_HOST_LABELS = ("Hostname", "hostname")
_INSTANCE_ID, _INSTANCE = "GPU_I_ID", "GPU_I_PROFILE"

# A node with 16 devices, split into instances with a hundred fields each, has about ten thousand.
MAX_SAMPLES = 1_000_000

# https://prometheus.io/docs/instrumenting/exposition_formats/; the time at the end is not used.
# Possessive quantifiers: backtracking over long runs of space would take quadratic time.
_SAMPLE = re.compile(
    r"([A-Za-z_:][\w:]*+)(?:\s*+\{(.*)\})?\s++(\S++)(?:\s++-?\d+)?(?:\s++#.*)?\s*+"
)
# Only at the start of a name: trying each letter of a long one would take quadratic time.
_LABEL = re.compile(r'(?<![\w\-])([\w\-]++)\s*+=\s*+"((?:[^"\\]|\\.)*)"')
_ESCAPE = re.compile(r'\\([\\"n])')


@dataclass(frozen=True, slots=True)
class PrometheusSample:
    """One value of one series; `value` is the printed text."""

    name: str
    labels: Mapping[str, str]
    value: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PrometheusSamples:
    """The samples in order, and the number of unreadable lines."""

    samples: Sequence[PrometheusSample]
    dropped: int = 0


@dataclass(frozen=True, slots=True)
class _Device:
    """A device: its host's number in file order, its index, its instance."""

    host: int
    index: str
    instance: str

    def subject(self, *, hosts: int) -> str:
        """Return the device's name without the host's name."""
        host = f"host {self.host} " if hosts > 1 else ""
        return clean_name(f"{host}gpu {self.index} {self.instance}")


def read_dcgm(data: bytes, *, workload: str, side: Side) -> Profile:
    """Return the readings of each device ("gpu 0") or instance ("gpu 0 1g.5gb #13").

    If a file has several scrapes, gauges are averaged, and counters have their last value. For
    shares, the mean over all full devices is added, without a subject. Raises ProfileError if the
    file has no DCGM field.
    """
    read = read_text(data)
    scrape = read_prometheus_samples(read.lines)
    field_samples = [(field, s) for s in scrape.samples if (field := field_of(s.name)) is not None]
    if not field_samples:
        msg = "this file has no DCGM field: give what dcgm-exporter serves at /metrics"
        raise ProfileError(msg)
    series, blank, broken = _series(field_samples)
    notes = [*read.notes, *([BLANK.format(blank)] if blank else ())]
    models = _models(sample for _, sample in field_samples)
    if len(models) > 1:
        notes.append(SEVERAL_MODELS)
    count = len({(one.host, one.index) for _, one in series})
    return summary_profile(
        workload=workload,
        side=side,
        tool=TOOL,
        readings=[*_means(series), *_readings(series)],
        device=ProfiledDevice(name=models[0], count=max(count, 1)) if models else None,
        dropped=scrape.dropped + broken,
        notes=notes,
    )


_Series = Mapping[tuple[DcgmField, _Device], Sequence[float]]


def read_prometheus_samples(lines: Sequence[str]) -> PrometheusSamples:
    """Return the samples of a Prometheus scrape, except those with unreadable labels."""
    samples: list[PrometheusSample] = []
    dropped = 0
    for line in lines:
        text = line.strip()
        if not text or text.startswith("#"):
            continue
        sample = _sample(text)
        if sample is None or len(samples) >= MAX_SAMPLES:
            dropped += 1
        else:
            samples.append(sample)
    return PrometheusSamples(samples=samples, dropped=dropped)


def _sample(line: str) -> PrometheusSample | None:
    match = _SAMPLE.fullmatch(line) if len(line) <= MAX_LINE_CHARACTERS else None
    if match is None or len(match[3]) > MAX_NUMBER_CHARACTERS:
        return None
    labels = {name: _ESCAPE.sub(_unescape, text) for name, text in _LABEL.findall(match[2] or "")}
    return PrometheusSample(match[1], labels, match[3])


def _unescape(match: re.Match[str]) -> str:
    return "\n" if match[1] == "n" else match[1]


def _series(
    field_samples: Sequence[tuple[DcgmField, PrometheusSample]],
) -> tuple[_Series, int, int]:
    """Return the values by field and device, and the numbers of blank and unreadable ones."""
    hosts = _hosts(sample for _, sample in field_samples)
    series: dict[tuple[DcgmField, _Device], list[float]] = defaultdict(list)
    blank = broken = 0
    for field, sample in field_samples:
        if _is_blank(sample.value):
            blank += 1
            continue
        value = _value(sample.value, field)
        if value is None:
            broken += 1
        else:
            series[field, _device(sample.labels, hosts)].append(value)
    return series, blank, broken


def _is_blank(text: str) -> bool:
    """Return whether a value is one of DCGM's codes for "not found" and "not supported"."""
    try:
        value = int(text) if text.lstrip("-").isdecimal() else float(text)
    except ValueError:
        return False
    return any(blank <= value < blank + _REASONS for blank in _BLANKS)


def _value(text: str, field: DcgmField) -> float | None:
    """Return the value in SI units, or None if the field cannot have it."""
    try:
        value = float(text) * field.factor
    except ValueError:
        return None
    most = MAX_SHARE if field.kind is FieldKind.SHARE else MAX_VALUE
    least = -most if field.unit == "degC" else 0.0
    return value if least <= value <= most else None


def _hosts(samples: Iterable[PrometheusSample]) -> Mapping[str, int]:
    """Return the hosts, numbered in file order because their names are not shown."""
    names = dict.fromkeys(_host(sample.labels) for sample in samples)
    return {name: number for number, name in enumerate((n for n in names if n), start=1)}


def _host(labels: Mapping[str, str]) -> str:
    return next((labels[name] for name in _HOST_LABELS if labels.get(name)), "")


def _device(labels: Mapping[str, str], hosts: Mapping[str, int]) -> _Device:
    # Samples without a host belong to the only host, if there is one.
    number = hosts.get(_host(labels), 0 if len(hosts) > 1 else 1)
    index = labels.get("gpu") or labels.get("device", "").removeprefix("nvidia") or "?"
    instance = labels.get(_INSTANCE, "")
    if instance or _INSTANCE_ID in labels:
        instance = f"{instance} #{labels.get(_INSTANCE_ID, '?')}".strip()
    return _Device(number, index, instance)


def _models(samples: Iterable[PrometheusSample]) -> list[str]:
    names = (
        sample.labels[label]
        for sample in samples
        for label in _MODEL_LABELS
        if sample.labels.get(label)
    )
    return [clean_name(name) for name in dict.fromkeys(names)]


def _readings(series: _Series) -> Iterator[ProfileReading]:
    hosts = len({device.host for _, device in series})
    for (field, device), values in series.items():
        yield _reading(field, _combine(field, values), device.subject(hosts=hosts))


def _means(series: _Series) -> Iterator[ProfileReading]:
    """Yield the mean shares over all full devices."""
    by_field: dict[DcgmField, list[float]] = defaultdict(list)
    for (field, device), values in series.items():
        if field.kind is FieldKind.SHARE and not device.instance:
            by_field[field].append(_combine(field, values))
    for field, values in by_field.items():
        yield _reading(field, fmean(values), "")


def _combine(field: DcgmField, values: Sequence[float]) -> float:
    match field.kind:
        case FieldKind.COUNTER:
            return values[-1]
        case FieldKind.SHARE | FieldKind.GAUGE:
            return fmean(values)


def _reading(field: DcgmField, value: float, subject: str) -> ProfileReading:
    return ProfileReading(
        name=field.name,
        value=value,
        unit=field.unit,
        subject=subject,
        source=f"DCGM field {field.id}",
    )

"""Turn a scrape of dcgm-exporter, or several one after another, into readings of each device."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from perfledger.profile import Profile, ProfiledDevice, Reading
from perfledger.records import Side
from perfledger_profiles.dcgm_fields import Field, Kind, field_of
from perfledger_profiles.errors import ProfileError
from perfledger_profiles.exposition import Sample, read_samples
from perfledger_profiles.redact import clean_name
from perfledger_profiles.summary import MAX_VALUE, summary_profile
from perfledger_profiles.text_file import read_text

TOOL = "dcgm-exporter"
# A share is a quotient of two counters read at slightly different times.
MAX_SHARE = 1.05
BLANK = "left out, as DCGM's own words for not supported or not permitted: {} values"
SEVERAL_MODELS = "the scrape is of several models of devices: the first is shown"

# dcgm_fields.h: DCGM_INT32_BLANK, DCGM_INT64_BLANK and DCGM_FP64_BLANK; up to 15 reasons follow
# each. A float cannot tell the 64-bit ones apart, so whole numbers are compared as such.
_BLANKS = (0x7FFFFFF0, 0x7FFFFFFFFFFFFFF0, 2**47)
_REASONS = 16
_MODEL_LABELS = ("modelName", "model_name")
_HOST_LABELS = ("Hostname", "hostname")
_INSTANCE_ID, _INSTANCE = "GPU_I_ID", "GPU_I_PROFILE"


@dataclass(frozen=True, slots=True)
class _Device:
    """Whose value it is: the host by its order in the file, the device's index, its instance."""

    host: int
    index: str
    instance: str

    def subject(self, *, hosts: int) -> str:
        """Return the words for it, without the host's name."""
        host = f"host {self.host} " if hosts > 1 else ""
        return clean_name(f"{host}gpu {self.index} {self.instance}")


def read_dcgm(data: bytes, *, workload: str, side: Side) -> Profile:
    """Return a device's readings with "gpu 0" as the subject, "gpu 0 1g.5gb #13" for an instance.

    Of several scrapes in one file gauges are averaged and of counters the last is taken. Shares
    also have the mean over all whole devices, with no subject. Raises ProfileError when no field
    of DCGM is in the file.
    """
    read = read_text(data)
    found = read_samples(read.lines)
    known = [(field, s) for s in found.samples if (field := field_of(s.name)) is not None]
    if not known:
        msg = "no field of DCGM is in this file: is it what dcgm-exporter serves at /metrics?"
        raise ProfileError(msg)
    series, blank, broken = _series(known)
    notes = [*read.notes, *([BLANK.format(blank)] if blank else ())]
    models = _models(sample for _, sample in known)
    if len(models) > 1:
        notes.append(SEVERAL_MODELS)
    count = len({(one.host, one.index) for _, one in series})
    return summary_profile(
        workload=workload,
        side=side,
        tool=TOOL,
        readings=[*_means(series), *_readings(series)],
        device=ProfiledDevice(name=models[0], count=max(count, 1)) if models else None,
        dropped=found.dropped + broken,
        notes=notes,
    )


_Series = Mapping[tuple[Field, _Device], Sequence[float]]


def _series(known: Sequence[tuple[Field, Sample]]) -> tuple[_Series, int, int]:
    """Return the values of each field and device; how many were blank, and how many broken."""
    hosts = _hosts(sample for _, sample in known)
    series: dict[tuple[Field, _Device], list[float]] = defaultdict(list)
    blank = broken = 0
    for field, sample in known:
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
    """Tell whether a value is one of DCGM's own for "not found" and "not supported"."""
    try:
        value = int(text) if text.lstrip("-").isdecimal() else float(text)
    except ValueError:
        return False
    return any(blank <= value < blank + _REASONS for blank in _BLANKS)


def _value(text: str, field: Field) -> float | None:
    """Return the value in SI units, None where it is no number or cannot be one of this field."""
    try:
        value = float(text) * field.factor
    except ValueError:
        return None
    most = MAX_SHARE if field.kind is Kind.SHARE else MAX_VALUE
    least = -most if field.unit == "degC" else 0.0
    return value if least <= value <= most else None


def _hosts(samples: Iterable[Sample]) -> Mapping[str, int]:
    """Return the number of each host, by order: their names are nobody's business."""
    names = dict.fromkeys(_host(sample.labels) for sample in samples)
    return {name: number for number, name in enumerate((n for n in names if n), start=1)}


def _host(labels: Mapping[str, str]) -> str:
    return next((labels[name] for name in _HOST_LABELS if labels.get(name)), "")


def _device(labels: Mapping[str, str], hosts: Mapping[str, int]) -> _Device:
    # Samples that do not say so are of the one host, where there is one.
    number = hosts.get(_host(labels), 0 if len(hosts) > 1 else 1)
    index = labels.get("gpu") or labels.get("device", "").removeprefix("nvidia") or "?"
    instance = labels.get(_INSTANCE, "")
    if instance or _INSTANCE_ID in labels:
        instance = f"{instance} #{labels.get(_INSTANCE_ID, '?')}".strip()
    return _Device(number, index, instance)


def _models(samples: Iterable[Sample]) -> list[str]:
    names = (
        sample.labels[label]
        for sample in samples
        for label in _MODEL_LABELS
        if sample.labels.get(label)
    )
    return [clean_name(name) for name in dict.fromkeys(names)]


def _readings(series: _Series) -> Iterator[Reading]:
    hosts = len({device.host for _, device in series})
    for (field, device), values in series.items():
        yield _reading(field, _taken(field, values), device.subject(hosts=hosts))


def _means(series: _Series) -> Iterator[Reading]:
    """Yield the shares of all whole devices together."""
    by_field: dict[Field, list[float]] = defaultdict(list)
    for (field, device), values in series.items():
        if field.kind is Kind.SHARE and not device.instance:
            by_field[field].append(_taken(field, values))
    for field, values in by_field.items():
        yield _reading(field, fmean(values), "")


def _taken(field: Field, values: Sequence[float]) -> float:
    match field.kind:
        case Kind.COUNTER:
            return values[-1]
        case Kind.SHARE | Kind.GAUGE:
            return fmean(values)


def _reading(field: Field, value: float, subject: str) -> Reading:
    return Reading(
        name=field.name,
        value=value,
        unit=field.unit,
        subject=subject,
        source=f"DCGM field {field.id}",
    )

"""Turn text in the Prometheus exposition format into samples."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from perfledger_profiles.quantity import MAX_NUMBER_CHARACTERS
from perfledger_profiles.text_file import MAX_LINE_CHARACTERS

# A node with 16 devices cut into instances and a hundred fields each has some ten thousand.
MAX_SAMPLES = 1_000_000

# https://prometheus.io/docs/instrumenting/exposition_formats/; the time at the end is not used.
# Space is taken whole: giving it up bit by bit would take the square of its length.
_SAMPLE = re.compile(
    r"([A-Za-z_:][\w:]*+)(?:\s*+\{(.*)\})?\s++(\S++)(?:\s++-?\d+)?(?:\s++#.*)?\s*+"
)
# Only where a name begins: looking from each of its letters would take forever in a long one.
_LABEL = re.compile(r'(?<![\w\-])([\w\-]++)\s*+=\s*+"((?:[^"\\]|\\.)*)"')
_ESCAPE = re.compile(r'\\([\\"n])')


@dataclass(frozen=True, slots=True)
class Sample:
    """One value of one series; `value` is as it was printed."""

    name: str
    labels: Mapping[str, str]
    value: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Samples:
    """The samples in their order, and how many lines are none."""

    samples: Sequence[Sample]
    dropped: int = 0


def read_samples(lines: Sequence[str]) -> Samples:
    """Return the samples of a scrape; labels that cannot be read are left out of theirs."""
    samples: list[Sample] = []
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
    return Samples(samples=samples, dropped=dropped)


def _sample(line: str) -> Sample | None:
    found = _SAMPLE.fullmatch(line) if len(line) <= MAX_LINE_CHARACTERS else None
    if found is None or len(found[3]) > MAX_NUMBER_CHARACTERS:
        return None
    labels = {name: _ESCAPE.sub(_unescaped, text) for name, text in _LABEL.findall(found[2] or "")}
    return Sample(found[1], labels, found[3])


def _unescaped(match: re.Match[str]) -> str:
    return "\n" if match[1] == "n" else match[1]

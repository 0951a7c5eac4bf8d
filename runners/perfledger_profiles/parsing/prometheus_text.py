"""Parses text in the Prometheus exposition format."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from perfledger_profiles.parsing.text_file import MAX_LINE_CHARACTERS
from perfledger_profiles.parsing.units import MAX_NUMBER_CHARACTERS

# A node with 16 devices, split into instances with a hundred fields each, has some ten thousand.
MAX_SAMPLES = 1_000_000

# https://prometheus.io/docs/instrumenting/exposition_formats/; the time at the end is not used.
# Possessive quantifiers: backtracking over long runs of space would take quadratic time.
_SAMPLE = re.compile(
    r"([A-Za-z_:][\w:]*+)(?:\s*+\{(.*)\})?\s++(\S++)(?:\s++-?\d+)?(?:\s++#.*)?\s*+"
)
# Only at the begin of a name: trying each letter of a long one would take quadratic time.
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


def read_prometheus_samples(lines: Sequence[str]) -> PrometheusSamples:
    """Return the samples of a scrape, without unreadable labels."""
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

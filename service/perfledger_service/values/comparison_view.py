"""Holds the comparison of two files' runs."""

from dataclasses import dataclass

from perfledger_baselines.judging.verdict import Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonView:
    """Comparison of two files' runs without pairs."""

    base: str  # names of the files
    head: str
    alpha: float
    margin: float
    floor: float
    assumed: str  # an assumption about the column's metric, "" without one
    verdicts: tuple[Verdict, ...]
    # Of a folder: series, and its baseline with the reason.
    baselines: tuple[tuple[str, str], ...] = ()

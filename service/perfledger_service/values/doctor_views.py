"""Holds what is found out about a machine before anything is checked on it."""

from dataclasses import dataclass

from perfledger.records import HostFinding, Machine
from perfledger_baselines.estimation.pairing import PairedTest
from perfledger_baselines.judging.verdict import Verdict
from perfledger_service.values.power_views import SpreadView


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricNoise:
    """How much one metric differs between two measurements of the same code."""

    test: PairedTest
    verdict: Verdict  # of a head that is its own base
    spread: SpreadView  # and the changes that pairs with it find


@dataclass(frozen=True, slots=True, kw_only=True)
class NoiseFloor:
    """The noise of one workload, measured as a check does, with the same code on both sides."""

    workload: str
    pairs: int
    seconds_per_pair: float
    margin: float
    max_pairs: int  # of a check, as configured
    check_pairs: int  # that fit the configured budget of a check, at most `max_pairs`
    metrics: tuple[MetricNoise, ...]
    failures: tuple[str, ...] = ()  # why it could not be measured


@dataclass(frozen=True, slots=True, kw_only=True)
class DoctorView:
    """A machine, the findings about its fitness, and its noise floor."""

    machine: Machine
    findings: tuple[HostFinding, ...]
    noise: NoiseFloor | None  # None: only the findings were asked for
    notes: tuple[str, ...] = ()

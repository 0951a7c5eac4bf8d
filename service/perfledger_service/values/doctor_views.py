"""Holds findings about a machine before anything is checked on it."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from perfledger.records import HostFinding, Machine, Param
from perfledger_baselines.estimation.pairing import PairedTest
from perfledger_baselines.judging.verdict import Verdict
from perfledger_runners.machine.setting_fixes import SettingFix
from perfledger_service.values.power_views import SpreadView


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricNoise:
    """How much one metric differs between two measurements of the same code."""

    test: PairedTest
    verdict: Verdict  # of a head that is its own base
    spread: SpreadView  # and the changes that pairs with it find


@dataclass(frozen=True, slots=True, kw_only=True)
class NoiseFloor:
    """The noise of one workload, measured like a check, with the same code on both sides."""

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
    fixes: tuple[SettingFix, ...] | None = None  # None: they were not asked for


class CanaryState(StrEnum):
    """How a canary compares with what the device should reach."""

    AS_EXPECTED = "as expected"
    SLOW = "slow"
    UNKNOWN = "unknown"  # there is no expectation for the device
    NOT_MEASURED = "not measured"


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedRate:
    """What a device should reach in a canary; None with the reason why it is unknown."""

    per_second: float | None
    basis: str  # the source of the expectation, or why there is none


@dataclass(frozen=True, slots=True, kw_only=True)
class CanaryResult:
    """The rate of one canary: `low` to `high` is its 95 % interval over processes."""

    name: str
    framework: str
    params: Mapping[str, Param]
    unit: str  # per second: FLOP, B, tokens or samples
    devices: int
    device: str  # the model of what it ran on
    per_second: float | None  # of an all-reduce the bus bandwidth
    low_per_second: float | None
    high_per_second: float | None
    expected_per_second: float | None
    state: CanaryState
    basis: str  # of the expectation, why it is unknown, or why nothing was measured
    rates: tuple[float, ...] = ()  # per second, of each process


@dataclass(frozen=True, slots=True, kw_only=True)
class CanaryView:
    """The canaries of a machine, and what may have disturbed them."""

    machine: Machine
    results: tuple[CanaryResult, ...]
    findings: tuple[HostFinding, ...]
    notes: tuple[str, ...] = ()

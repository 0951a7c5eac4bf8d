"""Compares the outcomes and costs of elastic policies on one log."""

from dataclasses import dataclass

from perfledger_cost_models.elastic_scheduling.simulation import ElasticOutcome
from perfledger_cost_models.job_logs.gaps import LogGap
from perfledger_cost_models.money import Usd
from perfledger_cost_models.quote import HourlyRate


@dataclass(frozen=True, slots=True, kw_only=True)
class ElasticComparison:
    """The outcomes of a log's jobs under each policy; the first is the reference."""

    log: str
    jobs: int
    left_out: int
    devices: tuple[tuple[str, int], ...]
    outcomes: tuple[ElasticOutcome, ...]
    rates: tuple[HourlyRate, ...]
    gaps: tuple[LogGap, ...] = ()  # of the log

    def usd(self, outcome: ElasticOutcome) -> Usd | None:
        """Return the cost of the device-hours that jobs held; None if one has no price."""
        by_class = {each.accelerator: float(each.usd_per_device_hour) for each in self.rates}
        if not outcome.device_hours.keys() <= by_class.keys():
            return None
        return Usd(sum(by_class[name] * hours for name, hours in outcome.device_hours.items()))

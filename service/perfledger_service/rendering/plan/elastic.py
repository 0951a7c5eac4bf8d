"""Presents the effect on a log of policies that choose the accelerator and the number of devices.

Untrusted text is shown only as clean text.
"""

from collections.abc import Iterator

import numpy as np

from perfledger import rounding
from perfledger_cost_models.elastic_scheduling.comparison import ElasticComparison
from perfledger_cost_models.elastic_scheduling.simulation import ElasticOutcome
from perfledger_cost_models.job_logs.gaps import gap_sentence
from perfledger_service.rendering.layout import number_format
from perfledger_service.rendering.layout.document import (
    Document,
    display,
    fact,
    notes,
    sentences,
    table,
    title,
    words,
)
from perfledger_service.rendering.layout.escape import clean
from perfledger_service.rendering.layout.number_format import quantity

_MAX_NAME = 40
_P95 = 0.95


def elastic_document(view: ElasticComparison) -> Document:
    """Return completion times, device-hours and cost of each policy."""
    return Document(
        name="perfledger-elastic",
        facts={
            "log": clean(view.log),
            "jobs": view.jobs,
            "left_out": view.left_out,
            "gaps": view.gaps,
            "devices": dict(view.devices),
        },
        blocks=(
            title(_title(view)),
            *sentences(_sentences(view)),
            table(
                (
                    words("policy", "policy", lambda row: str(row.policy)),
                    display("mean completion", lambda row: number_format.hours(_mean_s(row))),
                    display("P95", lambda row: number_format.hours(_p95_s(row))),
                    display("all done after", lambda row: number_format.hours(row.makespan_s)),
                    display(
                        "device-hours",
                        lambda row: rounding.decimals(sum(row.device_hours.values()), 1),
                    ),
                    display("cost", lambda row: _usd(view.usd(row))),
                    fact("completion_mean_s", _mean_s),
                    fact("completion_p95_s", _p95_s),
                    fact("makespan_s", lambda row: row.makespan_s),
                    fact("device_hours", lambda row: dict(row.device_hours)),
                    fact("usd", view.usd),
                ),
                view.outcomes,
                key="policies",
            ),
            *notes(_notes(view)),
        ),
    )


def _title(view: ElasticComparison) -> str:
    devices = ", ".join(f"{count:,} {clean(name)}" for name, count in view.devices)
    return f"{clean(view.log, limit=_MAX_NAME)}: {quantity(view.jobs, 'job')} on {devices}"


def _sentences(view: ElasticComparison) -> Iterator[str]:
    """Yield how much sooner jobs end on average than under the first policy, and the cost."""
    first = view.outcomes[0]
    for outcome in view.outcomes[1:]:
        change = round(100 * (_mean_s(outcome) / _mean_s(first) - 1))
        sooner = (
            f"{abs(change)}{number_format.NBSP}% {'sooner' if change < 0 else 'later'} than"
            if change
            else "as"
        )
        usd, first_usd = view.usd(outcome), view.usd(first)
        cost = "" if usd is None else f", for {_usd(usd)} ({_usd(first_usd)})"
        yield (
            f"With {outcome.policy} a job ends {number_format.hours(_mean_s(outcome))} after its "
            f"submission on average, {sooner} with {first.policy}{cost}."
        )


def _notes(view: ElasticComparison) -> Iterator[str]:
    yield (
        "One replay of this log with the table's speeds, without nodes, so there is no "
        "interval. USD: for the device-hours that jobs held."
    )
    if view.left_out:
        jobs = quantity(view.left_out, "job")
        yield f"Left out: {jobs} without a run time, whole devices or a speed."
    if view.gaps:
        yield gap_sentence(view.gaps)
    yield from (
        f"{rate.label}: {number_format.usd(rate.usd_per_device_hour)} an hour, {rate.origin}."
        for rate in view.rates
    )
    yield from (f"{rate.label}: {caveat}." for rate in view.rates for caveat in rate.caveats)


def _mean_s(outcome: ElasticOutcome) -> float:
    return float(outcome.completion_s.mean())


def _p95_s(outcome: ElasticOutcome) -> float:
    return float(np.quantile(outcome.completion_s, _P95))


def _usd(usd: float | None) -> str:
    return number_format.NOTHING if usd is None else number_format.usd(usd)

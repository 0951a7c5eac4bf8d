"""Presents the waits that a job log recorded, for a review."""

from perfledger_cost_models.job_logs.gaps import gap_sentence
from perfledger_cost_models.review.document import UnknownFigure
from perfledger_cost_models.review.queue_waits import RecordedWaits, WaitFigures
from perfledger_service.rendering.layout import number_format
from perfledger_service.rendering.layout.escape import clean
from perfledger_service.rendering.layout.number_format import duration, quantity
from perfledger_service.rendering.plan.calibration import cut_sentence

NO_TEAM = "(no team)"


def wait_rows(waits: RecordedWaits | UnknownFigure) -> list[dict[str, str]] | None:
    """Return the waits of each team and, last, of all jobs; None if they are unknown."""
    if isinstance(waits, UnknownFigure):
        return None
    rows = [_row(one.team or NO_TEAM, one) for one in waits.teams]
    return [*rows, _row("all jobs", waits.overall)]


def wait_sentence(waits: RecordedWaits | UnknownFigure, quarter: str) -> str:
    """Return a sentence on the waits and the objective; "" if the waits are unknown."""
    if isinstance(waits, UnknownFigure):
        return ""
    overall = waits.overall
    waiting = (
        f"{quantity(overall.jobs, 'job')} of {quarter} waited {duration(overall.wait_mean_s)} "
        f"on average, 95 % of them at most {duration(overall.wait_p95_s)}, by {clean(waits.log)}"
    )
    unknown = f" {cut_sentence(waits.cut_jobs)}" if waits.cut_jobs else ""
    if waits.gaps:
        unknown += f" {gap_sentence(waits.gaps)}"
    if waits.objective_s is None or waits.objective_share is None or overall.met_share is None:
        return f"{waiting}. The plan states no objective for waits.{unknown}"
    verdict = "met" if waits.is_met else "not met"
    return (
        f"{waiting}. The objective, {number_format.margin(waits.objective_share)} within "
        f"{duration(waits.objective_s)}, was {verdict}: {number_format.share(overall.met_share)} "
        f"were.{unknown}"
    )


def _row(team: str, figures: WaitFigures) -> dict[str, str]:
    return {
        "team": team,
        "jobs": f"{figures.jobs:,}",
        "mean": duration(figures.wait_mean_s),
        "p50": duration(figures.wait_p50_s),
        "p95": duration(figures.wait_p95_s),
        "met": number_format.NOTHING
        if figures.met_share is None
        else number_format.share(figures.met_share),
    }

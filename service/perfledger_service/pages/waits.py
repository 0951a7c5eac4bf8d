"""Turns the waits that a job log recorded into rows and a sentence of the review."""

from perfledger_cost_models.recorded_waits import RecordedWaits, WaitFigures
from perfledger_cost_models.review import Unknown
from perfledger_service.pages import figures
from perfledger_service.pages.escape import clean
from perfledger_service.pages.review_rows import NOTHING
from perfledger_service.pages.scheduled import duration

NO_TEAM = "(no team)"


def wait_rows(waits: RecordedWaits | Unknown) -> list[dict[str, str]] | None:
    """Return each team's waits and, last, everyone's; None where they are not known."""
    if isinstance(waits, Unknown):
        return None
    rows = [_row(one.team or NO_TEAM, one) for one in waits.teams]
    return [*rows, _row("all jobs", waits.everyone)]


def wait_words(waits: RecordedWaits | Unknown, quarter: str) -> str:
    """Return in a sentence how long jobs waited, and whether that was meant; "" if not known."""
    if isinstance(waits, Unknown):
        return ""
    one = waits.everyone
    told = (
        f"{one.jobs:,} jobs of {quarter} waited {duration(one.wait_mean_s)} on average, 95 % of "
        f"them at most {duration(one.wait_p95_s)}, by {clean(waits.log)}"
    )
    if waits.objective_s is None or waits.objective_share is None or one.met_share is None:
        return f"{told}. The plan states no objective for waits."
    verdict = "met" if waits.is_met else "not met"
    return (
        f"{told}. The objective, {figures.share(waits.objective_share)} within "
        f"{duration(waits.objective_s)}, was {verdict}: {figures.share(one.met_share)} were."
    )


def _row(team: str, one: WaitFigures) -> dict[str, str]:
    return {
        "team": team,
        "jobs": f"{one.jobs:,}",
        "mean": duration(one.wait_mean_s),
        "p50": duration(one.wait_p50_s),
        "p95": duration(one.wait_p95_s),
        "met": NOTHING if one.met_share is None else figures.share(one.met_share),
    }

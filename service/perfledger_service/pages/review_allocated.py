"""Turns an allocation into the rows of a review's page: by team, by project, and the bill."""

from dataclasses import dataclass

from perfledger_cost_models.allocation import Part, Row
from perfledger_cost_models.review import Unknown
from perfledger_cost_models.showback import Allocation
from perfledger_service.pages.allocated import allocation_sentences, team_words
from perfledger_service.pages.heat_plot import HeatPlot, heat_plot
from perfledger_service.pages.review_rows import MAX_ROWS, cents, plain


@dataclass(frozen=True, slots=True, kw_only=True)
class AllocationWords:
    """Who pays what, as it is shown; the last rows are the bill."""

    teams: tuple[dict[str, str], ...]
    projects: tuple[dict[str, str], ...]  # none where no project is known
    sentences: tuple[str, ...]
    heat: HeatPlot | None


def allocation_words(found: Allocation | Unknown) -> AllocationWords | None:
    """Return who pays what, at most MAX_ROWS of a kind; None where it is not known."""
    if isinstance(found, Unknown):
        return None
    whole = {
        "team": "the bill",
        "project": "",
        "hours": plain(found.used_hours),
        **{str(part): cents(found.sum_of(part)) for part in Part},
        "total": cents(found.effective_usd),
    }
    projects = found.rows if any(row.project for row in found.rows) else ()
    return AllocationWords(
        teams=(*map(_paid, found.by_team()[:MAX_ROWS]), whole),
        projects=(*map(_paid, projects[:MAX_ROWS]), whole) if projects else (),
        sentences=tuple(allocation_sentences(found)),
        heat=None if found.weeks is None else heat_plot(found.weeks),
    )


def _paid(row: Row) -> dict[str, str]:
    return {
        "team": team_words(row),
        "project": row.project or "(no project)",
        "hours": plain(row.hours),
        **{str(part): cents(row.usd_of(part)) for part in Part},
        "total": cents(row.total_usd),
    }

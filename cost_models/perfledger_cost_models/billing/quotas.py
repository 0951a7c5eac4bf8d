"""Reads the device-hour quotas of teams and projects, the weights of idle cost."""

from collections.abc import Mapping
from decimal import Decimal

from perfledger.rounding import typed
from perfledger_cost_models.billing.cost_allocation import MAX_HOURS, CostOwner
from perfledger_profiles.parsing.text_table import is_number, number_problem, read_table

MAX_CHARACTERS = 1_000_000
COLUMNS = (("team", "hours"), ("team", "project", "hours"))


class QuotaError(ValueError):
    """An error for a file that is not a table of quotas."""


def read_quotas(text: str, name: str) -> Mapping[CostOwner, Decimal]:
    """Read a CSV with the columns team, hours and, between them, optionally project.

    Only the ratio of the hours counts: a year's quotas work for a month. Raises QuotaError.
    """
    if len(text) > MAX_CHARACTERS:
        msg = f"{name} has more than {MAX_CHARACTERS} characters: keep one row per team"
        raise QuotaError(msg)
    table = read_table(text, name, error=QuotaError)
    if table.header not in COLUMNS:
        msg = f"{name} has the columns {table.header[:5]}: give team,hours or team,project,hours"
        raise QuotaError(msg)
    quotas: dict[CostOwner, Decimal] = {}
    for line, cells in table.rows:
        where = f"{name}, line {line}"
        owner = CostOwner(*(cell.strip() for cell in cells[:-1]))
        if owner in quotas:
            msg = f"{where}: {cells[0][:40]!r} appears twice: add its hours up"
            raise QuotaError(msg)
        quotas[owner] = _hours(cells[-1], where)
    return quotas


def _hours(text: str, where: str) -> Decimal:
    hours = Decimal(text.strip()) if is_number(text) else Decimal(-1)
    if not 0 <= hours <= MAX_HOURS:
        problem = number_problem(
            text, otherwise=f"is not a number of hours, 0 to {typed(MAX_HOURS)}"
        )
        msg = f"{where}: {text[:40]!r} {problem}: correct it"
        raise QuotaError(msg)
    return hours

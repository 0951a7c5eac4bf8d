"""A table of teams, projects and the device-hours that they may use, into weights of idle cost."""

import csv
from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from io import StringIO

from perfledger_cost_models.allocation import MAX_HOURS, Holder

MAX_CHARACTERS = 1_000_000
COLUMNS = (("team", "hours"), ("team", "project", "hours"))


class EntitlementError(ValueError):
    """A table of entitlements that is none."""


def read_entitlements(text: str, name: str) -> Mapping[Holder, Decimal]:
    """Read a CSV with the columns team, hours and, between them, project if it has one.

    Only what hours are to each other counts: a year's do for a month. Raises EntitlementError.
    """
    if len(text) > MAX_CHARACTERS:
        msg = f"{name} has more than {MAX_CHARACTERS} characters: keep one row a team"
        raise EntitlementError(msg)
    rows = csv.reader(StringIO(text.removeprefix("\ufeff"), newline=""), strict=True)
    found: dict[Holder, Decimal] = {}
    try:
        header = tuple(next(rows, list[str]()))
        if header not in COLUMNS:
            msg = f"{name} has the columns {header[:5]}: give team,hours or team,project,hours"
            raise EntitlementError(msg)
        for cells in filter(None, rows):
            where = f"{name}, line {rows.line_num}"
            if len(cells) != len(header):
                msg = f"{where}: {len(cells)} cells under {len(header)} columns: correct it"
                raise EntitlementError(msg)
            holder = Holder(*(cell.strip() for cell in cells[:-1]))
            if holder in found:
                msg = f"{where}: {cells[0][:40]!r} stands there twice: add its hours up"
                raise EntitlementError(msg)
            found[holder] = _hours(cells[-1], where)
    except csv.Error as error:
        msg = f"{name}, line {rows.line_num}, is no CSV: {error}"
        raise EntitlementError(msg) from error
    return found


def _hours(text: str, where: str) -> Decimal:
    try:
        hours = Decimal(text.strip())
    except InvalidOperation:
        hours = Decimal("NaN")
    if not (hours.is_finite() and 0 <= hours <= MAX_HOURS):
        msg = f"{where}: {text[:40]!r} are no hours from 0 to {MAX_HOURS:.0e}: correct it"
        raise EntitlementError(msg)
    return hours

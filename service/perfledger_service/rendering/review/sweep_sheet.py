"""Writes the sweep of devices and the ladder of terms into a workbook, with live formulas."""

import re
from collections.abc import Mapping

from perfledger_cost_models.procurement.cost_model import CostModel, PurchaseOption
from perfledger_cost_models.review.document import Review
from perfledger_service.rendering.layout.escape import clean
from perfledger_service.rendering.review.xlsx_workbook import CellStyle, Workbook

_NAME = re.compile(r"[a-z_]\w*")
_MAX_TEXT = 200


def sweep_sheet(book: Workbook, review: Review) -> None:
    """Write each option's cost by number of devices: live at the inputs, and on average."""
    titles = (
        "Option",
        "Devices",
        "at the most likely inputs, USD (live)",
        "simulated: on average, USD",
    )
    sheet = book.sheet("Sizes", titles, (40, 12, 24, 24))
    row = 1
    for sweep in review.sweeps:
        for one in sweep.sizes:
            sheet.text(row, 0, clean(sweep.option.name, limit=_MAX_TEXT))
            sheet.number(row, 1, one.devices, CellStyle.NUMBER)
            formula = (
                npv_at(review.model, sweep.option, devices=f"$B{row + 1}")
                if one.devices
                else review.model.keep.npv
            )
            sheet.formula(row, 2, formula, float(one.npv), CellStyle.USD)
            sheet.number(row, 3, float(one.npv_mean), CellStyle.USD)
            row += 1
    if (ladder := review.ladder) is not None:
        text = (
            f"Laddered terms: {ladder.long_devices:,} devices of {ladder.long.name}, and "
            f"{', '.join(f'{size:,}' for size in ladder.short_devices)} of {ladder.short.name} by "
            "year"
        )
        sheet.text(row + 1, 0, clean(text, limit=_MAX_TEXT))
        sheet.number(row + 1, 3, float(ladder.npv_mean), CellStyle.USD)


def npv_at(model: CostModel, option: PurchaseOption, *, devices: str) -> str:
    """Return the formula of an option's present value with the devices in a cell.

    The option's own lines are written out, because their names refer to its own number of devices.
    """
    prefix = f"{option.key}_"
    written_out: dict[str, str] = {f"{prefix}devices": devices}
    for line in model.lines:
        if line.name.startswith(prefix):
            written_out[line.name] = f"({_with_cell_names(line.formula, written_out)})"
    return written_out[option.npv]


def _with_cell_names(formula: str, by_name: Mapping[str, str]) -> str:
    return _NAME.sub(lambda match: by_name.get(match.group(), match.group()), formula)

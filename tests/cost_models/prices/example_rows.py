"""A row of a made-up price sheet, and sheets of rows that differ from it."""

import csv
from io import StringIO

from perfledger_cost_models.prices.price_sheet import COLUMNS

ROW = {
    "provider": "aws",
    "sku": "p5.48xlarge",
    "region": "us-east-1",
    "accelerator": "H100-80GB",
    "count": "8",
    "pricing_model": "on_demand",
    "term": "",
    "usd_per_hour": "55.04",
    "usd_per_accelerator_hour": "6.88",
    "as_of_date": "2026-07-20",
    "retrieved_at": "2026-11-20",
    "confidence": "high",
    "source": "price list",
    "note": "",
}


def sheet_text(*changes, columns=COLUMNS, **form):
    """Return a sheet with a row for each change of `ROW`."""
    out = StringIO()
    writer = csv.DictWriter(out, columns, **form)
    writer.writeheader()
    writer.writerows(ROW | change for change in changes)
    return out.getvalue()

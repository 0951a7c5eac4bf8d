"""The example's review."""

from datetime import date
from pathlib import Path

import pytest

from perfledger_cost_models.review.quarter import quarter_of
from perfledger_service.settings.service import price_settings
from perfledger_service.usecases.review.review import ReviewRequest, review

EXAMPLE = Path(__file__).parents[4] / "examples" / "review"


@pytest.fixture(scope="session")
def example():
    """The example's review, with its bill."""
    return review(
        ReviewRequest(
            quarter=quarter_of("2026Q3"),
            today=date(2026, 11, 22),
            plan=EXAMPLE / "plan.toml",
            bundles=None,
            database_url="",
            bill=EXAMPLE / "bill.csv",
            team_tag="",
            prices=price_settings(),
            previous=None,
            is_stale_allowed=False,
        )
    )

"""Defines the inputs of the quarterly review."""

from pydantic import Field
from pydantic_settings import BaseSettings, SettingsConfigDict

from perfledger_service.settings.check import ENV_PREFIX


class ReviewSettings(BaseSettings):
    """Inputs of the review that the service writes after each quarter: none without a plan."""

    model_config = SettingsConfigDict(env_prefix=ENV_PREFIX, extra="ignore", frozen=True)

    review_plan: str = Field(
        default="",
        description=(
            "the plan of the [review that the service makes](../how-to/review.md) each quarter"
        ),
    )
    review_project: str = Field(
        default="", description="the project, `OWNER/NAME`, whose maintainers may read it"
    )
    review_bill: str = Field(
        default="", description="its bill; `{quarter}` in the name becomes `2026Q4`"
    )
    review_team_tag: str = Field(default="", description="the bill's tag that names the team")

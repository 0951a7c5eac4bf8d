"""Defines what the service makes a quarter's review of."""

from pydantic import Field
from pydantic_settings import BaseSettings, SettingsConfigDict

from perfledger_service.settings.check import ENV_PREFIX


class ReviewSettings(BaseSettings):
    """The inputs of the review that the service makes after each quarter; none without a plan."""

    model_config = SettingsConfigDict(env_prefix=ENV_PREFIX, extra="ignore", frozen=True)

    review_plan: str = Field(
        "", description="the plan of the review that the service makes after each quarter"
    )
    review_project: str = Field(
        "", description="the project, OWNER/NAME, whose maintainers read that review"
    )
    review_bill: str = Field(
        "", description="the file of its bill; `{quarter}` in the name becomes 2026Q4"
    )
    review_team_tag: str = Field("", description="the tag of the bill that names the team")

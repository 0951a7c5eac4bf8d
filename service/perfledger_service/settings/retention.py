"""Defines how long a service keeps each class of data."""

from typing import Annotated

from pydantic import Field
from pydantic_settings import BaseSettings, SettingsConfigDict

from perfledger_service.settings.check import ENV_PREFIX

# A request for an A/B run is replaced after a week; after twice that, nobody works on older data.
MIN_DAYS = 14
MAX_DAYS = 36_500  # a hundred years; without a setting, data is kept for ever
KeptDays = Annotated[int | None, Field(ge=MIN_DAYS, le=MAX_DAYS)]


class RetentionSettings(BaseSettings):
    """Days for which each class of data is kept; without a value it is kept for ever."""

    model_config = SettingsConfigDict(env_prefix=ENV_PREFIX, extra="ignore", frozen=True)

    keep_bundles_days: KeptDays = Field(
        default=None, description="bundles, with their raw samples, profiles and logs"
    )
    keep_samples_days: KeptDays = Field(
        default=None, description="raw samples of series; their centers and intervals stay"
    )
    keep_pull_requests_days: KeptDays = Field(
        default=None, description="verdicts and observations of pull requests' checks"
    )
    keep_branch_days: KeptDays = Field(
        default=None, description="verdicts and observations of the default branch's checks"
    )
    keep_events_days: KeptDays = Field(
        default=None, description="events that are fixed or of the environment"
    )
    keep_jobs_days: KeptDays = Field(
        default=None, description="finished jobs of the queue for runners"
    )
    keep_audit_days: KeptDays = Field(default=None, description="entries of the audit log")
    keep_canaries_days: KeptDays = Field(
        default=None, description="canaries of devices, except those needed for comparison"
    )
    keep_workflows_days: KeptDays = Field(
        default=None, description="the workflow engine's records of finished work"
    )
    keep_of_projects: str = Field(
        default="",
        description=("uploads of single projects: `OWNER/NAME:bundles=400,samples=ever`"),
    )

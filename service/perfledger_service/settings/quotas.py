"""Defines how much each project may upload."""

from dataclasses import dataclass

from pydantic import Field
from pydantic_settings import BaseSettings, SettingsConfigDict

from perfledger_service.settings.check import ENV_PREFIX

# New bundles of a project: many times more than its machines can measure.
DEFAULT_UPLOADS = 1000
# Ten years of commits, counted separately, so that an import delays no check.
DEFAULT_IMPORTS = 10_000
# Series of a project: a thousand workloads with ten metrics on twenty machine classes.
DEFAULT_SERIES = 200_000
# More than any store carries: a larger number is a mistake.
MAX_QUOTA = 1_000_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class UploadQuota:
    """What a project may upload: bundles and imports within an hour, and series in all."""

    uploads: int = DEFAULT_UPLOADS
    imports: int = DEFAULT_IMPORTS
    series: int = DEFAULT_SERIES


class QuotaSettings(BaseSettings):
    """How much each project may upload; anything beyond is answered with 429."""

    model_config = SettingsConfigDict(env_prefix=ENV_PREFIX, extra="ignore", frozen=True)

    hourly_uploads: int = Field(
        default=DEFAULT_UPLOADS,
        ge=1,
        le=MAX_QUOTA,
        description="bundles that a project may upload within an hour",
    )
    hourly_imports: int = Field(
        default=DEFAULT_IMPORTS,
        ge=1,
        le=MAX_QUOTA,
        description="results of another tool that a project may import within an hour",
    )
    series_per_project: int = Field(
        default=DEFAULT_SERIES,
        ge=1,
        le=MAX_QUOTA,
        description="series (workload, metric and machine class) that a project may have",
    )

    def upload_quota(self) -> UploadQuota:
        """Return what a project may upload."""
        return UploadQuota(
            uploads=self.hourly_uploads,
            imports=self.hourly_imports,
            series=self.series_per_project,
        )

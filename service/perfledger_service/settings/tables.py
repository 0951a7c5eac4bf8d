"""Defines and validates the tables of the configuration file."""

from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from perfledger.time_units import HOURS_PER_YEAR
from perfledger_runners.bundles import validation as limits

# GitHub's logins; those of an enterprise's managed users end with its short code: ann_acme.
Login = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]{0,38}$")]
# Numbers are strict: true is not 1, and a text is no amount.
Amount = Annotated[float, Field(ge=0, allow_inf_nan=False, strict=True)]


class ConfigTable(BaseModel):
    """A table of the configuration file; unknown keys are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class FleetTable(ConfigTable):
    """`[[fleet]]`: device-hours a year of workloads."""

    workload: str
    where: str
    device_hours_per_year: Amount
    low: Amount | None = None
    high: Amount | None = None
    source: str = "declared in the configuration"
    weights: dict[str, Amount] = Field(default_factory=dict[str, float])
    transfer_factor: float | None = Field(
        default=None, ge=1, le=limits.MAX_TRANSFER_FACTOR, strict=True
    )

    @model_validator(mode="after")
    def _is_split(self) -> Self:
        if problem := limits.weights_problem(self.workload, self.weights):
            msg = f"weights: {problem}"
            raise ValueError(msg)
        return self

    @model_validator(mode="after")
    def _is_interval(self) -> Self:
        low = self.device_hours_per_year if self.low is None else self.low
        high = self.device_hours_per_year if self.high is None else self.high
        if not low <= self.device_hours_per_year <= high:
            msg = "low, device_hours_per_year and high must not decrease"
            raise ValueError(msg)
        return self


class CommitmentTable(ConfigTable):
    """`[[commitment]]`: devices that are paid for whether or not they are used."""

    where: str
    devices: Annotated[int, Field(ge=1, le=limits.MAX_DEVICES, strict=True)]
    busy_hours_per_year: Amount
    overflow: str = ""
    devices_per_job: Annotated[int, Field(ge=1, strict=True)] = 1
    job_hours: Annotated[float, Field(gt=0, allow_inf_nan=False, strict=True)] | None = None
    can_shrink: bool = False

    @model_validator(mode="after")
    def _is_possible(self) -> Self:
        hours = self.devices * HOURS_PER_YEAR
        if self.busy_hours_per_year > hours:
            msg = f"busy_hours_per_year is above the {hours} hours a year of {self.devices} devices"
            raise ValueError(msg)
        if self.devices_per_job > self.devices:
            msg = f"devices_per_job is {self.devices_per_job}, more than the {self.devices} devices"
            raise ValueError(msg)
        return self


class PolicyTable(ConfigTable):
    """`[[policy]]`: how much a change may cost a team a year."""

    team: Annotated[str, Field(min_length=1, max_length=100)]
    workloads: Annotated[tuple[str, ...], Field(min_length=1)] = ("*",)
    fail_above_usd_per_year: Amount | None = None
    ask_above_usd_per_year: Amount | None = None
    approvers: Annotated[tuple[Login, ...], Field(max_length=limits.MAX_APPROVERS)] = ()
    may_author_approve: bool = False

    @model_validator(mode="after")
    def _has_limits(self) -> Self:
        fail, ask = self.fail_above_usd_per_year, self.ask_above_usd_per_year
        if fail is None and ask is None:
            msg = "give fail_above_usd_per_year, ask_above_usd_per_year or both"
            raise ValueError(msg)
        if fail is not None and ask is not None and ask > fail:
            msg = "ask_above_usd_per_year is more than fail_above_usd_per_year"
            raise ValueError(msg)
        return self


class UsageTable(ConfigTable):
    """`[[usage]]`: which jobs of a usage file run a workload, and where."""

    match: Annotated[dict[str, str], Field(min_length=1)]  # label → glob; all have to match
    workload: str
    where: str


class DeclaredTable(ConfigTable):
    """`[[declared]]`: a throughput on hardware that was not measured here."""

    workload: str
    device: str
    units_per_second: Annotated[float, Field(gt=0, allow_inf_nan=False, strict=True)]
    source: str

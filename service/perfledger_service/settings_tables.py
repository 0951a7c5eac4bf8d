"""Tables of the configuration file in, checked values out."""

from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from perfledger_runners import bundle_checks as limits

# As GitHub has them; an enterprise's own end with its short code, ann_acme.
Login = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]{0,38}$")]
Amount = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class Table(BaseModel):
    """A table of the configuration file; unknown keys are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class FleetTable(Table):
    """`[[tool.perfledger.fleet]]`: device-hours a year that workloads stand for."""

    workload: str
    where: str
    device_hours_per_year: Amount
    low: Amount | None = None
    high: Amount | None = None
    source: str = "declared in the configuration"

    @model_validator(mode="after")
    def _is_interval(self) -> Self:
        low = self.device_hours_per_year if self.low is None else self.low
        high = self.device_hours_per_year if self.high is None else self.high
        if not low <= self.device_hours_per_year <= high:
            msg = "low, device_hours_per_year and high are not in this order"
            raise ValueError(msg)
        return self


class CommitmentTable(Table):
    """`[[tool.perfledger.commitment]]`: devices that are paid for whether used or not."""

    where: str
    devices: Annotated[int, Field(ge=1, le=limits.MAX_DEVICES)]
    busy_hours_per_year: Amount
    overflow: str = ""
    devices_per_job: Annotated[int, Field(ge=1)] = 1
    job_hours: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None

    @model_validator(mode="after")
    def _is_possible(self) -> Self:
        hours = self.devices * limits.HOURS_PER_YEAR
        if self.busy_hours_per_year > hours:
            msg = f"{self.devices} devices have no more than {hours} hours a year to be busy in"
            raise ValueError(msg)
        if self.devices_per_job > self.devices:
            msg = f"a job of {self.devices_per_job} devices does not fit {self.devices}"
            raise ValueError(msg)
        return self


class PolicyTable(Table):
    """`[[tool.perfledger.policy]]`: what a change may cost a team a year."""

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


class UsageTable(Table):
    """`[[tool.perfledger.usage]]`: which jobs of a usage file stand for which workload, where."""

    match: Annotated[dict[str, str], Field(min_length=1)]  # label → glob; all have to match
    workload: str
    where: str


class DeclaredTable(Table):
    """`[[tool.perfledger.declared]]`: a throughput on hardware that is not measured here."""

    workload: str
    device: str
    units_per_second: Annotated[float, Field(gt=0, allow_inf_nan=False)]
    source: str

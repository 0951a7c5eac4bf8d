"""Flags, environment and configuration files in, one frozen value out, with each value's origin.

Sources, strongest first: command-line flags, `PERFLEDGER_*` in the environment, `perfledger.toml`
or `[tool.perfledger]` in `pyproject.toml`, defaults. A pull request's check reads the file of the
base commit: a change must not relax its own gate.
"""

import difflib
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated, Any, Literal, TypeVar, cast

from pydantic import (
    BeforeValidator,
    Field,
    SecretStr,
    ValidationError,
    field_validator,
)
from pydantic_settings import (
    BaseSettings,
    EnvSettingsSource,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
)

from perfledger.bundle import Commitment, CostPolicy, DeclaredThroughput, FleetUse, Pricing
from perfledger.records import Param
from perfledger_runners import bundle_checks as limits
from perfledger_service.errors import SettingsError
from perfledger_service.settings_tables import (
    CommitmentTable,
    DeclaredTable,
    FleetTable,
    PolicyTable,
    Table,
    UsageTable,
)

CONFIG_FILES = ("perfledger.toml", "pyproject.toml")
MAX_CONFIG_BYTES = 1_000_000
ENV_PREFIX = "PERFLEDGER_"
# What the bundle carries as values of its own, or does not need.
_TABLES = {"params", "fleet", "declared", "commitment", "policy", "usage"}
_Settings = TypeVar("_Settings", bound=BaseSettings)
_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|s|m|h|)")
_USERINFO = re.compile(r"://.*@")  # to the last "@": a password may hold anything
_SECRET_PARAMETER = re.compile(r"([?&][^=&]*(?:pass|secret|token|key)[^=&]*=)[^&]*", re.IGNORECASE)
_SECONDS = {"ms": 0.001, "s": 1.0, "": 1.0, "m": 60.0, "h": 3600.0}


def seconds(value: object) -> float:
    """Turn "90", "90s", "10m" or "1.5h" into seconds; raise ValueError for anything else."""
    match = _DURATION.fullmatch(str(value).strip())
    if match is None or float(match[1]) == 0:
        msg = f"{value!r} is not a duration: write 90s, 10m or 1.5h"
        raise ValueError(msg)
    return float(match[1]) * _SECONDS[match[2]]


Seconds = Annotated[float, BeforeValidator(seconds)]
Share = Annotated[float, Field(gt=0, lt=1)]
Usd = Annotated[Decimal, Field(gt=0, allow_inf_nan=False)]
ErrorRate = Annotated[float, Field(gt=0, lt=0.5)]  # from one half on a coin would do as well


class CheckSettings(BaseSettings):
    """All that a check can be told; the field's description is its documentation."""

    model_config = SettingsConfigDict(
        env_prefix=ENV_PREFIX, extra="ignore", frozen=True, validate_default=True
    )

    paths: tuple[str, ...] = Field(("benchmarks",), description="files or folders with workloads")
    import_paths: tuple[str, ...] = Field(
        (".", "src"), description="folders of the checkout put first on the import path"
    )
    python: str = Field("", description="the repository's interpreter (.venv/bin/python if empty)")
    device: Literal["auto", "cpu", "cuda", "tpu"] = Field("auto", description="where to measure")
    margin: Share = Field(0.01, description="relative change that counts as unchanged")
    floor: Share = Field(0.003, description="relative change below which nothing is a regression")
    alpha: ErrorRate = Field(0.05, description="chance of any false regression in one check")
    max_pairs: Annotated[int, Field(ge=4, le=1000)] = Field(20, description="most pairs of runs")
    budget: Seconds = Field(600.0, description="most time for measuring, such as 10m")
    budget_usd: Usd | None = Field(None, description="most money for measuring, in USD")
    device_price: str = Field(
        "", description="USD an hour of a device here, or its purchase option: budget_usd needs it"
    )
    timeout: Seconds = Field(300.0, description="most time for one workload in one process")
    metrics: tuple[
        Literal["step_time_p95", "step_time_p99", "energy_per_step", "cold_start"], ...
    ] = Field(
        (), description="what is judged beside what always is: tails of the step time, energy"
    )
    undecided: Literal["action_required", "neutral"] = Field(
        "action_required", description="the check's conclusion when a verdict is undecided"
    )
    params: dict[str, dict[str, tuple[Param, ...]]] = Field(
        default_factory=dict[str, dict[str, tuple[Param, ...]]],
        description="parameter grids by module:function, in place of the decorator's",
    )
    fleet: Annotated[tuple[FleetTable, ...], Field(max_length=limits.MAX_FLEET)] = Field(
        (), description="device-hours a year by workload"
    )
    declared: tuple[DeclaredTable, ...] = Field(
        (), description="throughputs on hardware that is not measured here"
    )
    commitment: Annotated[tuple[CommitmentTable, ...], Field(max_length=limits.MAX_COMMITMENTS)] = (
        Field((), description="devices that are paid for whether used or not")
    )
    policy: Annotated[tuple[PolicyTable, ...], Field(max_length=limits.MAX_POLICIES)] = Field(
        (), description="what a change may cost a year, by team"
    )
    usage: tuple[UsageTable, ...] = Field(
        (), description="which jobs of a usage file stand for which workload"
    )

    @field_validator("commitment")
    @classmethod
    def _is_each_once(cls, entries: tuple[CommitmentTable, ...]) -> tuple[CommitmentTable, ...]:
        if len({entry.where for entry in entries}) < len(entries):
            msg = "two commitments have one `where`: add their devices up"
            raise ValueError(msg)
        return entries

    @property
    def pricing(self) -> Pricing:
        """Return what the configuration says about money, as the bundle carries it."""
        return Pricing(
            fleet=tuple(FleetUse(**entry.model_dump()) for entry in self.fleet),
            declared=tuple(DeclaredThroughput(**entry.model_dump()) for entry in self.declared),
            commitments=tuple(Commitment(**entry.model_dump()) for entry in self.commitment),
            policies=tuple(CostPolicy(**entry.model_dump()) for entry in self.policy),
        )

    def in_force(self) -> dict[str, Param]:
        """Return the plain settings by name, for the bundle."""
        return {
            name: value if isinstance(value, Param) else _shown(value)
            for name, value in self.model_dump(exclude=_TABLES).items()
        }

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],  # noqa: ARG003 - pydantic's signature
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,  # noqa: ARG003
        dotenv_settings: PydanticBaseSettingsSource,  # noqa: ARG003
        file_secret_settings: PydanticBaseSettingsSource,  # noqa: ARG003
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Take only what `check_settings` hands in: it merges the sources to know each origin."""
        return (init_settings,)


class ServiceSettings(BaseSettings):
    """All that the operator of a service can set; secrets have no default."""

    model_config = SettingsConfigDict(env_prefix=ENV_PREFIX, extra="ignore", frozen=True)

    database_url: str = Field(
        "sqlite:///perfledger.db", description="SQLite file or PostgreSQL, as a SQLAlchemy URL"
    )
    public_url: str = Field("http://127.0.0.1:8765", description="where people reach the pages")
    github_api_url: str = Field("https://api.github.com", description="root of GitHub's API")
    github_app_id: str = Field("", description="the GitHub App's id")
    github_private_key: SecretStr | None = Field(None, description="the GitHub App's key, PEM")
    github_token: SecretStr | None = Field(None, description="a token, in place of an App")
    webhook_secret: SecretStr | None = Field(None, description="GitHub signs its webhooks with it")


class UploadSettings(BaseSettings):
    """Where `perfledger submit` and `check --upload` send bundles."""

    model_config = SettingsConfigDict(env_prefix=ENV_PREFIX, extra="ignore", frozen=True)

    upload_url: str = Field("", description="the service's root, https://…")
    upload_token: SecretStr | None = Field(None, description="the project's token")


class PriceSettings(BaseSettings):
    """Which prices and inputs count besides the packaged ones; flags go before them."""

    model_config = SettingsConfigDict(env_prefix=ENV_PREFIX, extra="ignore", frozen=True)

    prices: str = Field("", description="the sheet that `perfledger prices update` wrote")
    overrides: str = Field("", description="the organisation's prices and inputs, in TOML")
    contract: str = Field("", description="prices of a contract, in the same TOML")
    google_api_key: SecretStr | None = Field(None, description="for Google's billing catalog")


@dataclass(frozen=True, slots=True)
class Origin:
    """One setting as it is in force, and who said so."""

    name: str
    value: str
    origin: str


def file_table(name: str, content: bytes) -> dict[str, Any] | None:
    """Return the perfledger table of a configuration file's content, or None if it has none.

    Raises SettingsError for a file that is too large, is not TOML, or has unknown settings in it.
    """
    if len(content) > MAX_CONFIG_BYTES:
        msg = f"{name} is larger than {MAX_CONFIG_BYTES:,} bytes: that is no configuration"
        raise SettingsError(msg)
    try:
        document: object = tomllib.loads(content.decode("utf-8"))
    except (ValueError, RecursionError) as error:  # no TOML, no UTF-8, or an endless integer
        msg = f"{name} is not valid TOML: {error}"
        raise SettingsError(msg) from None
    if name == "pyproject.toml":
        document = _member(_member(document, "tool"), "perfledger")
    if document is None:
        return None
    if not isinstance(document, dict):
        msg = f"[tool.perfledger] in {name} is not a table"
        raise SettingsError(msg)
    table = cast("dict[str, Any]", document)
    for key in table:
        if key not in CheckSettings.model_fields:
            near = difflib.get_close_matches(key, CheckSettings.model_fields, n=1)
            hint = f": did you mean {near[0]!r}?" if near else ""
            msg = f"{name} has an unknown setting {key!r}{hint}"
            raise SettingsError(msg)
    return table


def check_settings(
    *, flags: Mapping[str, object], table: Mapping[str, Any] | None, table_name: str
) -> tuple[CheckSettings, tuple[Origin, ...]]:
    """Return the settings of a check and where each comes from; raise SettingsError if one is bad.

    `flags` with the value None were not given. `table` is what `file_table` returned.
    """
    given = {name: value for name, value in flags.items() if value is not None}
    environment = EnvSettingsSource(CheckSettings)()
    merged = {**(table or {}), **environment, **given}
    settings = _validated(CheckSettings, merged)
    origins: list[Origin] = []
    for name in CheckSettings.model_fields:
        origin = "default"
        if name in given:
            origin = "command line"
        elif name in environment:
            origin = f"environment ({ENV_PREFIX}{name.upper()})"
        elif name in (table or {}):
            origin = table_name
        origins.append(Origin(name, _shown(getattr(settings, name)), origin))
    return settings, tuple(origins)


def service_settings() -> ServiceSettings:
    """Read the service's settings from the environment."""
    return _validated(ServiceSettings, {})


def upload_settings() -> UploadSettings:
    """Read the upload's settings from the environment."""
    return _validated(UploadSettings, {})


def price_settings() -> PriceSettings:
    """Read where an organisation's prices are from the environment."""
    return _validated(PriceSettings, {})


def origins_of(settings: ServiceSettings | UploadSettings | PriceSettings) -> tuple[Origin, ...]:
    """Return each of the settings with its origin; secrets are masked."""
    return tuple(
        Origin(
            name,
            _shown(getattr(settings, name)),
            f"environment ({ENV_PREFIX}{name.upper()})"
            if name in settings.model_fields_set
            else "default",
        )
        for name in type(settings).model_fields
    )


def _validated(kind: type[_Settings], values: Mapping[str, Any]) -> _Settings:
    try:
        return kind(**values)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        msg = f"setting {where!r} is wrong: {first['msg'].removeprefix('Value error, ')}"
        raise SettingsError(msg) from None


def _member(table: object, key: str) -> object:
    return cast("dict[str, Any]", table).get(key) if isinstance(table, dict) else None


def _shown(value: object) -> str:
    match value:
        case SecretStr():
            return "(set, hidden)"
        case None | "" | () | {}:
            return "(none)"
        case tuple():
            return ", ".join(_shown(part) for part in cast("tuple[object, ...]", value))
        case Table():
            return value.model_dump_json(exclude_none=True)
        case _:
            return _without_passwords(str(value))


def _without_passwords(text: str) -> str:
    """Return a setting with the name and password, and secret parameters, of a URL hidden."""
    return _SECRET_PARAMETER.sub(r"\1(hidden)", _USERINFO.sub("://(hidden)@", text))

"""Defines the settings of a check."""

import re
import shlex
from decimal import Decimal
from typing import Annotated, Literal

from pydantic import (
    BeforeValidator,
    Field,
    field_validator,
)
from pydantic_settings import (
    BaseSettings,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
)

from perfledger.bundle import (
    CLASS_DEADLINE_S,
    Commitment,
    CostPolicy,
    DeclaredThroughput,
    FleetUse,
    PricingConfig,
)
from perfledger.records import Param
from perfledger.registration.variant_name import variants_fault
from perfledger.time_units import SECONDS_PER_HOUR, SECONDS_PER_MINUTE
from perfledger.work_limit import MAX_WORK_LIMITS, parse_work_limit
from perfledger_runners.bundles import validation as limits
from perfledger_runners.bundles.value_checks import MAX_WORD
from perfledger_runners.children.child_variables import named_variable_error
from perfledger_runners.jobs.runner_job import MAX_EXCLUDED_DEVICES
from perfledger_runners.machine.core_reservation import ALL, FREE
from perfledger_runners.proc_files import parse_cores
from perfledger_service.settings.tables import (
    CommitmentTable,
    DeclaredTable,
    FleetTable,
    PolicyTable,
    UsageTable,
)
from perfledger_service.settings.validation import setting_text

ENV_PREFIX = "PERFLEDGER_"
AUTO = "auto"
MAX_DEVICE_NAME = 1000  # characters
# Tables that the bundle stores as separate values, or does not need.
TABLES = {"params", "variants", "fleet", "declared", "commitment", "policy", "usage"}
# Settings that do not describe what was measured.
_LEFT_OUT = {*TABLES, "excluded_devices"}
# Settings that do not change what is measured: a repeated check does without them.
NOT_MEASURED = frozenset({*_LEFT_OUT - {"params", "variants"}, "lock_folder"})
_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*(us|ms|s|m|h|)")
_SECONDS = {
    "us": 1e-6,
    "ms": 0.001,
    "s": 1.0,
    "": 1.0,
    "m": float(SECONDS_PER_MINUTE),
    "h": float(SECONDS_PER_HOUR),
}


def seconds(value: object) -> float:
    """Return the seconds of "90", "90s", "10m" or "1.5h"; raise ValueError for anything else."""
    match = _DURATION.fullmatch(str(value).strip())
    if match is None or float(match[1]) == 0:
        msg = f"{value!r} is not a duration: write 90s, 10m or 1.5h"
        raise ValueError(msg)
    return float(match[1]) * _SECONDS[match[2]]


Seconds = Annotated[float, BeforeValidator(seconds)]
Share = Annotated[float, Field(gt=0, lt=1)]
Usd = Annotated[Decimal, Field(gt=0, allow_inf_nan=False)]
ErrorRate = Annotated[float, Field(gt=0, lt=0.5)]  # at one half, a coin toss would do as well


class CheckSettings(BaseSettings):
    """The settings of a check; each field's description is its documentation."""

    model_config = SettingsConfigDict(
        env_prefix=ENV_PREFIX, extra="ignore", frozen=True, validate_default=True
    )

    paths: tuple[str, ...] = Field(
        default=("benchmarks",),
        description=(
            "files or folders with workloads of this file's `suite`; other suites have their own"
        ),
    )
    suite: Literal["perfledger", "asv", "pytest"] = Field(
        default="perfledger",
        description=(
            'what is measured: registered workloads, `"asv"` benchmarks or `"pytest"` tests'
        ),
    )
    import_paths: tuple[str, ...] = Field(
        default=(".", "src"), description="folders of the checkout, first on the import path"
    )
    python: str = Field(
        default="",
        description=(
            "the repository's interpreter; else `.venv/bin/python`, else perfledger's own"
        ),
    )
    build: Annotated[str, Field(max_length=MAX_WORD)] = Field(
        default="",
        description=(
            "shell command that builds or installs a checkout, such as `pip install .`; see below"
        ),
    )
    build_timeout: Seconds = Field(
        default=1800.0, description="time limit for the build of one side"
    )
    isolated: bool = Field(
        default=False,
        description=(
            "a separate environment for each side, with the usual build if `build` is not set"
        ),
    )
    env: tuple[str, ...] = Field(
        default=(),
        description=(
            "environment variables that workloads and builds get in addition to the usual "
            "ones; see below"
        ),
    )
    sandbox: Annotated[str, Field(max_length=MAX_WORD)] = Field(
        default="", description="command that workloads run in, such as `bwrap`; see below"
    )
    device: Literal["auto", "cpu", "cuda", "tpu"] = Field(
        default="auto",
        description=(
            "`auto`, `cpu`, `cuda` or `tpu`; `--device` can also name [one "
            "GPU](../how-to/multi-gpu.md)"
        ),
    )
    cores: Annotated[str, Field(max_length=MAX_WORD)] = Field(
        default=AUTO,
        description=(
            "cores that steps on a CPU use: `all`, `free`, a list such as `0-3,8`, or "
            "`auto`; see below"
        ),
    )
    margin: Share = Field(
        default=0.01,
        description=(
            'relative change that counts as unchanged: "unchanged" means proven to be within it'
        ),
    )
    floor: Share = Field(
        default=0.003, description="relative change below which nothing is called a regression"
    )
    alpha: ErrorRate = Field(
        default=0.05, description="chance of any false regression in one check; below 0.5"
    )
    max_pairs: Annotated[int, Field(ge=4, le=1000)] = Field(
        default=20,
        description=("maximum number of pairs of fresh processes per workload, at least 4"),
    )
    budget: Seconds = Field(
        default=600.0, description="time limit without builds and waits for other checks; see below"
    )
    budget_usd: Usd | None = Field(
        default=None,
        description=("cost limit for measuring, in USD; needs `device_price`, see below"),
    )
    device_price: str = Field(
        default="",
        description=(
            "USD per hour of one device of this machine, or its purchase option; see below"
        ),
    )
    lock_folder: str = Field(
        default="/tmp",  # noqa: S108 - every user's checks meet there; see DeviceLocks
        description=(
            'folder of the locks by which checks on one machine take turns; "": no locks; see below'
        ),
    )
    fail_on: Annotated[tuple[str, ...], Field(max_length=MAX_WORK_LIMITS)] = Field(
        default=(),
        description=(
            "limits on a step's work that [fail before any timing](../how-to/skip-same-code.md)"
        ),
    )
    timeout: Seconds = Field(
        default=300.0, description="time limit for one workload in one process"
    )
    skip: bool = Field(
        default=True,
        description=(
            "skip workloads that run [the same code](../how-to/skip-same-code.md) on both sides"
        ),
    )
    launch: str = Field(
        default="",
        description=(
            "starts the ranks of workloads with [several devices](../how-to/multi-gpu.md): "
            '`"mpirun -n {devices}"`'
        ),
    )
    metrics: tuple[
        Literal[
            "step_time_p95",
            "step_time_p99",
            "energy_per_step",
            "cold_start",
            "compile_time",
            "memory_over_time",
            "kernels",
        ],
        ...,
    ] = Field(
        default=(),
        description="further metrics to judge; see below",
    )
    undecided: Literal["action_required", "neutral"] = Field(
        default="action_required",
        description=("conclusion of an undecided check; `neutral` satisfies a required check"),
    )
    machine_classes: Annotated[tuple[str, ...], Field(max_length=limits.MAX_CLASSES)] = Field(
        default=(),
        description=("machine classes (patterns) that must report on a pull request; see below"),
    )
    excluded_devices: Annotated[
        tuple[Annotated[str, Field(max_length=MAX_DEVICE_NAME)], ...],
        Field(max_length=MAX_EXCLUDED_DEVICES),
    ] = Field(
        default=(),
        description=(
            "names of devices that are [not measured on](../how-to/quarantine.md): exit status 6"
        ),
    )
    class_deadline: Annotated[Seconds, Field(le=limits.MAX_CLASS_DEADLINE_S)] = Field(
        default=CLASS_DEADLINE_S,
        description=(
            "longest wait for the report of a machine class, from the announcement; see below"
        ),
    )
    accepted_work: tuple[str, ...] = Field(
        default=(),
        description=("workloads (patterns) that need no proof that head does all of base's work"),
    )
    params: dict[str, dict[str, tuple[Param, ...]]] = Field(
        default_factory=dict[str, dict[str, tuple[Param, ...]]],
        description=(
            'tables `[params."module:function"]`: parameter grids instead of the decorator\'s'
        ),
    )
    variants: dict[str, tuple[str, ...]] = Field(
        default_factory=dict[str, tuple[str, ...]],
        description=(
            "table `[variants]`: [variants](../how-to/compare-variants.md) of steps, by "
            '"module:function"'
        ),
    )
    fleet: Annotated[tuple[FleetTable, ...], Field(max_length=limits.MAX_FLEET)] = Field(
        default=(), description="tables `[[fleet]]`: the device-hours a year of a workload"
    )
    declared: tuple[DeclaredTable, ...] = Field(
        default=(),
        description=(
            'tables `[[declared]]`: throughput that was not measured here, shown as "declared"'
        ),
    )
    commitment: Annotated[tuple[CommitmentTable, ...], Field(max_length=limits.MAX_COMMITMENTS)] = (
        Field(
            default=(),
            description=("tables `[[commitment]]`: devices that are paid for whether used or not"),
        )
    )
    policy: Annotated[tuple[PolicyTable, ...], Field(max_length=limits.MAX_POLICIES)] = Field(
        default=(),
        description=(
            "tables `[[policy]]`: limits on the cost of a change; see "
            "[policies](change-price.md#policies)"
        ),
    )
    usage: tuple[UsageTable, ...] = Field(
        default=(),
        description=(
            "tables `[[usage]]`: the mapping of jobs to workloads; see [fleet "
            "hours](fleet-hours.md)"
        ),
    )

    @field_validator("env")
    @classmethod
    def _may_be_passed_on(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        for name in names:
            if error := named_variable_error(name):
                raise ValueError(error)
        return names

    @field_validator("fail_on")
    @classmethod
    def _are_limits(cls, limits: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(parse_work_limit(limit).text for limit in limits)

    @field_validator("variants")
    @classmethod
    def _are_variants(cls, variants: dict[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
        for workload, names in variants.items():
            if fault := variants_fault(names):
                msg = f"{workload[:MAX_WORD]}: {fault}"
                raise ValueError(msg)
        return variants

    @field_validator("sandbox")
    @classmethod
    def _is_command(cls, command: str) -> str:
        shlex.split(command)  # raises ValueError for an unclosed quotation
        return command

    @field_validator("cores")
    @classmethod
    def _are_cores(cls, choice: str) -> str:
        if choice not in (AUTO, ALL, FREE) and not parse_cores(choice):
            msg = f"{choice!r} is not {AUTO}, {ALL}, {FREE}, or a list of cores such as 0-3,8"
            raise ValueError(msg)
        return choice

    @field_validator("commitment")
    @classmethod
    def _is_each_once(cls, entries: tuple[CommitmentTable, ...]) -> tuple[CommitmentTable, ...]:
        if len({entry.where for entry in entries}) < len(entries):
            msg = "two commitments have one `where`: add their devices up"
            raise ValueError(msg)
        return entries

    def core_choice(self, *, is_stored: bool) -> str:
        """Return the cores of a check: the setting, else all if a service may store the result.

        Step times of a default branch are compared over weeks, so they must use the same cores.
        """
        if self.cores != AUTO:
            return self.cores
        return ALL if is_stored else FREE

    @property
    def pricing(self) -> PricingConfig:
        """Return the pricing tables in the bundle's form."""
        return PricingConfig(
            fleet=tuple(FleetUse(**entry.model_dump()) for entry in self.fleet),
            declared=tuple(DeclaredThroughput(**entry.model_dump()) for entry in self.declared),
            commitments=tuple(Commitment(**entry.model_dump()) for entry in self.commitment),
            policies=tuple(CostPolicy(**entry.model_dump()) for entry in self.policy),
        )

    @property
    def own_paths(self) -> tuple[str, ...]:
        """Return the paths with benchmarks, none if another tool's configuration names them."""
        is_named = "paths" in self.model_fields_set
        return self.paths if is_named or self.suite == "perfledger" else ()

    @property
    def own_grids(self) -> dict[str, tuple[str, ...]]:
        """Return the functions that have parameters or variants in these settings, by setting."""
        return {"params": tuple(self.params), "variants": tuple(self.variants)}

    def in_force(self) -> dict[str, Param]:
        """Return the settings in force by name, without tables, for the bundle."""
        return {
            name: _bundled_value(value)
            for name, value in self.model_dump(exclude=_LEFT_OUT).items()
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
        """Use only the values that `check_settings` merges, since it records their origins."""
        return (init_settings,)


def _bundled_value(value: object) -> Param:
    """Return a setting as a bundle holds it: without passwords, lists and amounts as texts."""
    if isinstance(value, bool | int | float):
        return value
    return setting_text(value) if value != "" else ""

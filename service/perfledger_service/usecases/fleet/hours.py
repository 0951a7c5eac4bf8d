"""Counts the device-hours of a configuration's workloads from usage files."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from perfledger.bundle import PricingConfig
from perfledger_cost_models.billing.usage_readers import read_usage
from perfledger_cost_models.change_price.fleet_hours import (
    FleetProfile,
    UsageMatcher,
    fleet_profile,
)
from perfledger_cost_models.usage.device_spans import DeviceUsage, check_runs_differ
from perfledger_service.errors import SettingsError, UsageError
from perfledger_service.settings.check import CheckSettings
from perfledger_service.settings.sources import MAX_CONFIG_BYTES, check_settings, file_table
from perfledger_service.usecases.inputs.error_translation import translate_errors
from perfledger_service.usecases.inputs.files import NamedBytes, errors_about, read_bytes
from perfledger_service.usecases.inputs.repository_config import configured_table, root_of

HOW_TO_CLAIM = (
    "no [[usage]] table maps jobs to workloads: add one with match, workload "
    'and where, such as match = { job = "train-*" }'
)


@dataclass(frozen=True, slots=True)
class UsagePeriod:
    """The period of usage that counts, in UTC."""

    start: datetime
    end: datetime


def fleet_of(
    files: Sequence[NamedBytes], *, configuration: Path | None, period: UsagePeriod | None = None
) -> FleetProfile:
    """Return the device-hours a year of the configuration's workloads in usage files.

    Raises SettingsError without a usage table, and UsageError for a file that cannot be counted.
    """
    settings = settings_at(configuration)
    if not settings.usage:
        where = "" if configuration is None else f"{configuration}: "
        msg = f"{where}{HOW_TO_CLAIM}"
        raise SettingsError(msg)
    claims = [UsageMatcher(entry.match, entry.workload, entry.where) for entry in settings.usage]
    between = None if period is None else (period.start, period.end)
    with translate_errors():
        return fleet_profile(read_usages(files), claims, period=between)


def read_usages(files: Sequence[NamedBytes]) -> tuple[DeviceUsage, ...]:
    """Read usage files; raise UsageError."""
    if len({file.data for file in files}) < len(files):
        msg = "one of the files is given twice, so its hours would count twice: leave it out once"
        raise UsageError(msg)
    usages = tuple(_read_usage_of(file) for file in files)
    with translate_errors():
        check_runs_differ(usages)
    return usages


def _read_usage_of(file: NamedBytes) -> DeviceUsage:
    with errors_about(file):
        return read_usage(file.data, file.name)


def pricing_at(configuration: Path | None) -> PricingConfig:
    """Return the fleet, commitments and policies of a configuration file.

    None means the configuration of the current repository.
    """
    return settings_at(configuration).pricing


def settings_at(configuration: Path | None) -> CheckSettings:
    """Return the settings of a configuration file, by default of the current repository."""
    if configuration is None:
        name, table = configured_table(root_of(Path())) or ("", None)
    else:
        name = configuration.name
        with errors_about(configuration):
            table = file_table(name, read_bytes(configuration, most_bytes=MAX_CONFIG_BYTES))
            return check_settings(flags={}, table=table, table_name=name)[0]
    return check_settings(flags={}, table=table, table_name=name)[0]

"""Usage files and configurations in, the fleet that changes are priced on out."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from perfledger.bundle import Pricing
from perfledger_cost_models.fleet import Claim, FleetProfile, fleet_profile
from perfledger_cost_models.usage import Usage
from perfledger_cost_models.usage_file import read_usage
from perfledger_service.errors import SettingsError, UsageError
from perfledger_service.settings import MAX_CONFIG_BYTES, CheckSettings, check_settings, file_table
from perfledger_service.usecases.setting_up import configured_table, root_of
from perfledger_service.usecases.text_files import NamedBytes, read_bytes
from perfledger_service.usecases.translating import translated

HOW_TO_CLAIM = (
    "no [[usage]] table says which jobs stand for which workload: add one with match, workload "
    'and where, such as match = { job = "train-*" }'
)


@dataclass(frozen=True, slots=True)
class Period:
    """What of the usage files counts; UTC."""

    start: datetime
    end: datetime


def fleet_of(
    files: Sequence[NamedBytes], *, configuration: Path | None, period: Period | None = None
) -> FleetProfile:
    """Return the device-hours a year that usage files tell of the configuration's workloads.

    Raises SettingsError without a table that claims jobs, and UsageError for a file that cannot be
    counted.
    """
    settings = settings_at(configuration)
    if not settings.usage:
        raise SettingsError(HOW_TO_CLAIM)
    claims = [Claim(entry.match, entry.workload, entry.where) for entry in settings.usage]
    between = None if period is None else (period.start, period.end)
    with translated():
        return fleet_profile(read_usages(files), claims, period=between)


def read_usages(files: Sequence[NamedBytes]) -> tuple[Usage, ...]:
    """Return what usage files tell; raises UsageError."""
    if len({file.data for file in files}) < len(files):
        msg = "one of the files is given twice, and its hours would count twice: leave it out"
        raise UsageError(msg)
    with translated():
        return tuple(read_usage(file.data, file.name) for file in files)


def pricing_at(configuration: Path | None) -> Pricing:
    """Return the fleet, commitments and policies of a configuration file.

    None is that of the repository here.
    """
    return settings_at(configuration).pricing


def settings_at(configuration: Path | None) -> CheckSettings:
    """Return the settings of a configuration file; without one those of the repository here."""
    if configuration is None:
        name, table = configured_table(root_of(Path())) or ("", None)
    else:
        name = configuration.name
        table = file_table(name, read_bytes(configuration, most_bytes=MAX_CONFIG_BYTES))
    return check_settings(flags={}, table=table, table_name=name)[0]

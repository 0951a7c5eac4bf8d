"""Merges flags, environment and configuration files, and records each setting's origin.

Sources, strongest first: command-line flags, `PERFLEDGER_*` in the environment, `perfledger.toml`
or `[tool.perfledger]` in `pyproject.toml`, defaults. A pull request's check reads the file of the
base commit, so that a change cannot relax its own gate.
"""

import difflib
import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from pydantic_settings import EnvSettingsSource

from perfledger_service.errors import SettingsError
from perfledger_service.settings.check import ENV_PREFIX, NOT_MEASURED, CheckSettings
from perfledger_service.settings.service import PriceSettings, ServiceSettings, UploadSettings
from perfledger_service.settings.validation import setting_text, validate_settings

CONFIG_FILES = ("perfledger.toml", "pyproject.toml")
MAX_CONFIG_BYTES = 1_000_000  # of perfledger.toml or pyproject.toml


@dataclass(frozen=True, slots=True)
class SettingOrigin:
    """A setting in force, and its origin."""

    name: str
    value: str
    origin: str


def file_table(name: str, content: bytes) -> dict[str, Any] | None:
    """Return the perfledger table of a configuration file's content, or None if it has none.

    Raises SettingsError for a file that is too large, is not TOML, or has unknown settings in it.
    """
    if len(content) > MAX_CONFIG_BYTES:
        msg = f"{name} is larger than {MAX_CONFIG_BYTES:,} bytes: it is not a configuration"
        raise SettingsError(msg)
    try:
        parsed = tomllib.loads(content.decode("utf-8"))
    except (ValueError, RecursionError) as error:  # not TOML, not UTF-8, or an endless integer
        msg = f"{name} is not valid TOML: {error}"
        raise SettingsError(msg) from None
    document = _table_of_pyproject(parsed) if name == "pyproject.toml" else parsed
    if document is None:
        return None
    if not isinstance(document, dict):
        msg = f"[tool.perfledger] in {name} is not a table"
        raise SettingsError(msg)
    table = cast("dict[str, Any]", document)
    for key in table:
        if key not in CheckSettings.model_fields:
            msg = f"{name} has an unknown setting {key!r}{_hint(key)}"
            raise SettingsError(msg)
    return table


def check_settings(
    *, flags: Mapping[str, object], table: Mapping[str, Any] | None, table_name: str
) -> tuple[CheckSettings, tuple[SettingOrigin, ...]]:
    """Return the settings of a check, each with its origin; raise SettingsError if one is invalid.

    `flags` with the value None were not given. `table` is what `file_table` returned.
    """
    flag_values = {name: value for name, value in flags.items() if value is not None}
    environment = EnvSettingsSource(CheckSettings)()
    table = _of_suite(table or {}, {**environment, **flag_values}.get("suite"))
    merged = {**table, **environment, **flag_values}
    settings = validate_settings(CheckSettings, merged)
    origins: list[SettingOrigin] = []
    for name in CheckSettings.model_fields:
        origin = "default"
        if name in flag_values:
            origin = "command line"
        elif name in environment:
            origin = f"environment ({ENV_PREFIX}{name.upper()})"
        elif name in table:
            origin = table_name
        origins.append(SettingOrigin(name, setting_text(getattr(settings, name)), origin))
    return settings, tuple(origins)


def start_settings(flags: Mapping[str, object], settings: CheckSettings) -> dict[str, str]:
    """Return the settings that flags and the environment gave, as their variables have them.

    Prices, locks and devices that are refused do not change what is measured, and are left out.
    """
    values: dict[str, object] = dict(EnvSettingsSource(CheckSettings)())
    values |= {name: value for name, value in flags.items() if value is not None}
    return {
        name: _variable_text(value, getattr(settings, name))
        for name, value in values.items()
        if name in CheckSettings.model_fields and name not in NOT_MEASURED
    }


def origins_of(
    settings: ServiceSettings | UploadSettings | PriceSettings,
) -> tuple[SettingOrigin, ...]:
    """Return each of the settings with its origin; secrets are masked."""
    return tuple(
        SettingOrigin(
            name,
            setting_text(getattr(settings, name)),
            f"environment ({ENV_PREFIX}{name.upper()})"
            if name in settings.model_fields_set
            else "default",
        )
        for name in type(settings).model_fields
    )


def _variable_text(value: object, in_force: object) -> str:
    """Return a value as a variable would give it: flags and variables are texts, lists are JSON."""
    if isinstance(in_force, bool):
        return str(in_force).lower()
    return json.dumps(value) if isinstance(value, list | dict) else str(value)


def _of_suite(table: Mapping[str, Any], suite: object) -> Mapping[str, Any]:
    """Return the file's settings, without `paths` if another suite is chosen than the file's."""
    own_suite = table.get("suite", CheckSettings.model_fields["suite"].default)
    if suite is None or suite == own_suite:
        return table
    return {name: value for name, value in table.items() if name != "paths"}


def _hint(key: str) -> str:
    """Return what an unknown setting's name was meant to be, as the end of a sentence."""
    if key == "tool":
        return ": tables are [[fleet]] here, and [[tool.perfledger.fleet]] in pyproject.toml alone"
    near = difflib.get_close_matches(key, CheckSettings.model_fields, n=1)
    return f": did you mean {near[0]!r}?" if near else ""


def _table_of_pyproject(document: dict[str, Any]) -> object:
    """Return `[tool.perfledger]`; raise SettingsError for a setting that stands outside it."""
    table = _member(_member(document, "tool"), "perfledger")
    for key in document:
        if table is not None and key in CheckSettings.model_fields:
            msg = (
                f"pyproject.toml has {key!r} outside [tool.perfledger], where nothing reads it: "
                "move it there (a table such as [[fleet]] becomes [[tool.perfledger.fleet]])"
            )
            raise SettingsError(msg)
    return table


def _member(table: object, key: str) -> object:
    return cast("dict[str, Any]", table).get(key) if isinstance(table, dict) else None

"""Validates settings and writes them as text."""

import re
from collections.abc import Mapping
from typing import Any, TypeVar, cast

from pydantic import SecretStr, ValidationError
from pydantic_settings import BaseSettings

from perfledger_runners.bundles.value_checks import MAX_WORD
from perfledger_service.errors import SettingsError
from perfledger_service.settings.tables import ConfigTable

_Settings = TypeVar("_Settings", bound=BaseSettings)
_USERINFO = re.compile(r"://.*@", re.DOTALL)  # to the last "@": a password may contain "@"
_SECRET_PARAMETER = re.compile(r"([?&][^=&]*(?:pass|secret|token|key)[^=&]*=)[^&]*", re.IGNORECASE)


def validate_settings(kind: type[_Settings], values: Mapping[str, Any]) -> _Settings:
    """Return settings of these values; raise SettingsError for the first invalid one."""
    try:
        return kind(**values)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        msg = f"setting {where!r} is wrong: {first['msg'].removeprefix('Value error, ')}"
        raise SettingsError(msg) from None


def setting_text(value: object) -> str:
    """Return a setting as text, with secrets hidden."""
    match value:
        case SecretStr():
            return "(set, hidden)"
        case None | "" | () | {}:
            return "(none)"
        case tuple():
            return ", ".join(setting_text(part) for part in cast("tuple[object, ...]", value))
        case ConfigTable():
            return value.model_dump_json(exclude_none=True)
        case _:
            return _without_passwords(str(value))


def is_showable(text: str) -> bool:
    """Return whether a setting may be shown in a command: short, on one line, without secrets."""
    is_plain = len(text) <= MAX_WORD and text.isprintable()
    return is_plain and _without_passwords(text) == text


def _without_passwords(text: str) -> str:
    """Return a setting without the secrets of its URL: name, password and secret parameters."""
    return _SECRET_PARAMETER.sub(r"\1(hidden)", _USERINFO.sub("://(hidden)@", text))

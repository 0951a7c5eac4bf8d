"""Writes the tables of the page of settings from the settings' descriptions.

`make docs` runs `python -m perfledger_service.settings.reference docs/reference/settings.md`.
"""

import json
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from pydantic import BeforeValidator, SecretStr
from pydantic.fields import FieldInfo

from perfledger import rounding
from perfledger.time_units import SECONDS_PER_HOUR, SECONDS_PER_MINUTE
from perfledger_service.settings.check import ENV_PREFIX, TABLES, CheckSettings, seconds
from perfledger_service.settings.quotas import QuotaSettings
from perfledger_service.settings.retention import RetentionSettings
from perfledger_service.settings.review import ReviewSettings
from perfledger_service.settings.service import PriceSettings, ServiceSettings, UploadSettings

_CHECK = "| setting | default | meaning |\n|---|---|---|\n"
_SERVICE = "| variable | default | meaning |\n|---|---|---|\n"
_RETENTION = "| variable | what is kept for this time |\n|---|---|\n"


def page(text: str) -> str:
    """Return the page of settings with its three tables as the settings are now."""
    parts = (RetentionSettings, ReviewSettings, QuotaSettings)
    inherited = {name for model in parts for name in model.model_fields}
    service = {
        name: field for name, field in ServiceSettings.model_fields.items() if name not in inherited
    }
    for model in (QuotaSettings, ReviewSettings, UploadSettings, PriceSettings):
        service |= model.model_fields
    rows = {
        _CHECK: _rows(CheckSettings.model_fields, prefix=""),
        _SERVICE: _rows(service, prefix=ENV_PREFIX),
        _RETENTION: (
            f"| `{_variable(name)}` | {field.description} |"
            for name, field in RetentionSettings.model_fields.items()
        ),
    }
    for head, its_rows in rows.items():
        table = head + "".join(f"{row}\n" for row in its_rows)
        old = list(re.finditer(rf"^{re.escape(head)}(?:\|.*\n)+", text, re.MULTILINE))
        if len(old) != 1:
            msg = f"the page has no table, or several, that begins with {head.splitlines()[0]!r}"
            raise ValueError(msg)
        text = text[: old[0].start()] + table + text[old[0].end() :]
    return text


def main(path: Path) -> None:
    """Write the page with its tables as the settings are now."""
    path.write_text(page(path.read_text(encoding="utf-8")), encoding="utf-8")


def _rows(fields: Mapping[str, FieldInfo], *, prefix: str) -> Iterator[str]:
    for name, field in fields.items():
        setting = _variable(name) if prefix else name
        default = _default(name, field)
        yield f"| `{setting}` | {f'`{default}` ' if default else ''}| {field.description} |"


def _variable(name: str) -> str:
    return f"{ENV_PREFIX}{name.upper()}"


def _default(name: str, field: FieldInfo) -> str:
    """Return a setting's default as a configuration file has it, "" if it has none."""
    value = field.get_default(call_default_factory=True)
    match value:
        case None | "" | SecretStr():
            return ""
        case bool():
            return str(value).lower()
        case tuple() | dict():
            return "" if name in TABLES else json.dumps(value)
        case float() if _is_duration(field):
            return _duration(value)
        case int() | float():
            return rounding.for_programs(value)
        case _:
            return str(value)


def _is_duration(field: FieldInfo) -> bool:
    return any(isinstance(one, BeforeValidator) and one.func is seconds for one in field.metadata)


def _duration(value: float) -> str:
    for unit, length in (("h", SECONDS_PER_HOUR), ("m", SECONDS_PER_MINUTE)):
        if value % length == 0:
            return f"{int(value // length)}{unit}"
    return f"{rounding.for_programs(value)}s"


if __name__ == "__main__":
    main(Path(sys.argv[1]))

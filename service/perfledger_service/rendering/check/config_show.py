"""Presents the settings with the origin of each value."""

from collections.abc import Sequence

from perfledger_service.rendering.layout.document import Column, Document, name, table
from perfledger_service.settings.sources import SettingOrigin

_MAX_VALUE = 400
_COLUMNS: tuple[Column[SettingOrigin], ...] = (
    name("name", "setting", lambda setting: setting.name),
    name("value", "value", lambda setting: setting.value, limit=_MAX_VALUE),
    name("origin", "from", lambda setting: setting.origin, limit=_MAX_VALUE),
)


def settings_document(groups: Sequence[Sequence[SettingOrigin]]) -> Document:
    """Return all settings."""
    settings = [setting for group in groups for setting in group]
    return Document(name="perfledger-settings", blocks=(table(_COLUMNS, settings, key="settings"),))

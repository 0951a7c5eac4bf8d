import json

from perfledger_service.rendering.check.config_show import settings_document
from perfledger_service.rendering.layout.writers import plain_lines, to_json, to_terminal
from perfledger_service.settings.sources import SettingOrigin

GROUPS = (
    (SettingOrigin("margin", "0.02", "perfledger.toml"),),
    (SettingOrigin("PERFLEDGER_UPLOAD_URL", "", "default"),),
)


def test_groups_follow_each_other_in_every_format():
    shown_plain_lines = plain_lines(to_terminal(settings_document(GROUPS)))
    rows = json.loads(to_json(settings_document(GROUPS)))["settings"]

    assert shown_plain_lines.index("margin") < shown_plain_lines.index("PERFLEDGER_UPLOAD_URL")
    assert [(row["name"], row["value"], row["origin"]) for row in rows] == [
        ("margin", "0.02", "perfledger.toml"),
        ("PERFLEDGER_UPLOAD_URL", "", "default"),
    ]

"""Settings as text: what an operator reads, and never a secret."""

import pytest
from hypothesis import given, strategies as st
from pydantic import SecretStr

from perfledger_service.errors import SettingsError
from perfledger_service.settings.service import ServiceSettings
from perfledger_service.settings.tables import DeclaredTable
from perfledger_service.settings.validation import is_showable, setting_text, validate_settings

HOST = "@db.example/ledger"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, "(none)"),
        ("", "(none)"),
        ((), "(none)"),
        ({}, "(none)"),
        (0.01, "0.01"),
        (("benchmarks", "tests"), "benchmarks, tests"),
        (SecretStr("canary"), "(set, hidden)"),
        ((SecretStr("canary"),), "(set, hidden)"),
        (
            DeclaredTable(workload="x", device="H100", units_per_second=5, source="a paper"),
            '{"workload":"x","device":"H100","units_per_second":5.0,"source":"a paper"}',
        ),
    ],
)
def test_a_setting_is_shown_as_people_write_it(value, expected):
    assert setting_text(value) == expected


@pytest.mark.parametrize(
    "url",
    [
        "postgresql+psycopg://ledger:canary@db.example/ledger",
        "postgresql+psycopg://ledger:can@ry/canary@db.example/ledger",
        "postgresql+psycopg://ledger:can\nry\r\ncanary@db.example/ledger",
        "postgresql+psycopg://db.example/ledger?user=ledger&password=canary&sslmode=require",
        "postgresql+psycopg://db.example/ledger?PGPASSWORD=can\nry/canary&sslmode=require",
    ],
)
def test_a_databases_password_is_hidden_and_its_host_is_not(url):
    shown_setting_text = setting_text(url)

    assert "db.example/ledger" in shown_setting_text
    assert "can" not in shown_setting_text
    assert "ry/" not in shown_setting_text


@given(st.text(min_size=1))
def test_a_password_may_hold_anything(password):
    assert setting_text(f"postgresql://ledger:{password}{HOST}") == f"postgresql://(hidden){HOST}"


def test_the_first_wrong_setting_is_named_and_its_value_is_not():
    with pytest.raises(SettingsError, match="setting 'public_url' is wrong: ") as caught:
        validate_settings(ServiceSettings, {"github_app_id": 3, "public_url": ["canary"]})
    assert "canary" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "is_shown"),
    [
        ("pip install -e .", True),
        ("", True),
        ("pip install --index-url https://ci:canary@index.example/simple .", False),
        ("make\nmake install", False),
        ("/opt/\udce9/python", False),
        ("x" * 300, True),
        ("x" * 301, False),
    ],
)
def test_a_command_shows_short_plain_settings_without_secrets(text, is_shown):
    assert is_showable(text) is is_shown

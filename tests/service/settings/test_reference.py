"""The tables of the page of settings are what the settings say."""

from pathlib import Path

import pytest

from perfledger_service.settings.reference import main, page

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "settings.md"
TEXT = PAGE.read_text(encoding="utf-8")


def test_the_page_is_up_to_date():
    assert page(TEXT) == TEXT, "run `make docs`"


def test_a_row_that_was_changed_by_hand_is_written_again(tmp_path):
    path = tmp_path / "settings.md"
    path.write_text(TEXT.replace("| `margin` | `0.01` |", "| `margin` | `0.02` |"))
    assert path.read_text() != TEXT

    main(path)

    assert path.read_text() == TEXT


def test_defaults_are_written_as_a_file_has_them():
    for row in (
        '| `paths` | `["benchmarks"]` |',
        "| `build_timeout` | `30m` |",
        "| `class_deadline` | `6h` |",
        "| `skip` | `true` |",
        "| `python` | |",
        "| `fleet` | |",
        "| `env` | `[]` |",
        "| `PERFLEDGER_SESSION_IDLE_HOURS` | `12` |",
        "| `PERFLEDGER_GITHUB_TOKEN` | |",
    ):
        assert row in TEXT, row


def test_a_page_that_lacks_a_table_is_an_error():
    with pytest.raises(ValueError, match="no table, or several"):
        page(TEXT.replace("| setting | default | meaning |", "| setting | meaning |"))

"""Reads contents and recordings as the readers of histories get them."""

import json
from pathlib import Path

import pytest

from perfledger_profiles.benchmark_histories.text import parse_history

RECORDINGS = Path(__file__).parent / "recordings"


def parsed(content, name="file.json"):
    """Return the content of a file: a text, or what is its JSON."""
    text = content if isinstance(content, str) else json.dumps(content)
    return parse_history(text.encode(), name)


@pytest.fixture(name="parsed")
def parsed_fixture():
    return parsed


@pytest.fixture
def recording():
    """Return a recorded file, or all those of a folder."""

    def recording(name):
        path = RECORDINGS / name
        if path.is_file():
            return parse_history(path.read_bytes(), name)
        paths = sorted(one for one in path.rglob("*") if one.is_file())
        return [parse_history(one.read_bytes(), one.name) for one in paths]

    return recording

"""Runs the examples of `perfledger server app` against the stand-in, with a browser's requests."""

import json
import os
import re
import shlex
import signal
import subprocess
import sys
from html import unescape

import httpx
import pytest

from perfledger_service.cli.server.app import app

pytestmark = pytest.mark.slow


@pytest.fixture
def start(stand_in, tmp_path):
    """Start a command as a shell does, and return it with the address of its form."""
    environment = os.environ | {
        "PERFLEDGER_PUBLIC_URL": "https://ledger.example",
        "PERFLEDGER_GITHUB_API_URL": stand_in.url,
    }
    started = []

    def start(example):
        words = [*shlex.split(example)[1:], "--port", "0"]
        process = subprocess.Popen(
            [sys.executable, "-m", "perfledger_service", *words],
            cwd=tmp_path,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        line = process.stderr.readline()
        address = re.search(r"http://127\.0\.0\.1:\d+", line)
        assert address is not None, line + process.stderr.read()
        return process, address[0]

    yield start
    for process in started:
        process.kill()
        process.communicate()


def confirm(address):
    """Press the form's button, and follow GitHub's way back; return the form."""
    page = httpx.get(address).text
    fields = dict(re.findall(r'(action|value)="([^"]+)"', page))
    action, manifest = unescape(fields["action"]), unescape(fields["value"])
    answer = httpx.post(action, data={"manifest": manifest})
    assert "GitHub sent a code" in httpx.get(answer.headers["location"]).text
    return page


def test_an_app_is_registered_by_one_confirmation(start, tmp_path):
    table, as_json = app.examples
    process, address = start(table)

    page = confirm(address)
    text, errors = process.communicate()

    assert process.returncode == 0, errors
    assert "https://ledger.example/webhooks/github" in page
    assert "perfledger ledger.example is registered" in text
    assert "set -a; . ./perfledger.env; perfledger server run" in text
    assert 'PERFLEDGER_GITHUB_APP_ID="2"' in (tmp_path / "perfledger.env").read_text()

    (tmp_path / "perfledger.env").unlink()
    process, address = start(as_json)
    confirm(address)
    text, _ = process.communicate()
    assert json.loads(text)["id"] == 2
    assert "secret" not in text


def test_an_interrupted_registration_ends_at_once_and_leaves_nothing(start, tmp_path):
    process, _ = start("perfledger server app perfledger.env")

    process.send_signal(signal.SIGTERM)
    process.communicate()

    assert process.returncode == 143
    assert not list(tmp_path.iterdir())

"""Runs `perfledger server run` as a process of its own, for tests that kill it."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

GITHUB_TOKEN = "ghp_canaryCanaryCanaryCanaryCanary012345"


@contextmanager
def service_process(
    database_url: str, github_url: str, *, log: Path, webhook_secret: str = ""
) -> Generator[tuple[subprocess.Popen[str], str]]:
    """Start the service on a free port; give its process and its URL, and end it afterwards."""
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith("PERFLEDGER_")
    }
    environment |= {
        "PERFLEDGER_DATABASE_URL": database_url,
        "PERFLEDGER_GITHUB_API_URL": github_url,
        "PERFLEDGER_GITHUB_TOKEN": GITHUB_TOKEN,
    }
    if webhook_secret:
        environment["PERFLEDGER_WEBHOOK_SECRET"] = webhook_secret
    with log.open("a", encoding="utf-8") as stream:
        process = subprocess.Popen(
            [sys.executable, "-m", "perfledger_service", "server", "run", "--port", "0"],
            stdout=subprocess.PIPE,
            stderr=stream,
            text=True,
            env=environment,
        )
    assert process.stdout is not None
    try:
        line = process.stdout.readline()
        match = re.search(r"http://\S+", line)
        assert match, (line, log.read_text(encoding="utf-8"))
        yield process, match[0]
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(timeout=600)
        process.stdout.close()

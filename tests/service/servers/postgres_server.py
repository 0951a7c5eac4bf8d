"""Runs a throw-away PostgreSQL on a free loopback port, from the system's programs."""

import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path


class PostgresServer:
    """A server with its data in a folder; `url` is that of its first database."""

    def __init__(self, control: Path, folder: Path, *, options: str) -> None:
        self._control, self._folder = control, folder
        # PostgreSQL refuses to run as root.
        self._user, self._group = ("nobody", "nogroup") if os.geteuid() == 0 else (None, None)
        if self._user and self._group:
            shutil.chown(folder, self._user, self._group)
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        self.url = f"postgresql+psycopg://perfledger@127.0.0.1:{port}/postgres"
        self._options = f"-c listen_addresses=127.0.0.1 -p {port} -k {folder} {options}"

    def start(self) -> None:
        """Start it, and wait until it has recovered."""
        log = self._folder / "log"
        self._run(self._control, "start", "-w", "-D", self._data, "-l", log, "-o", self._options)

    def stop_hard(self) -> None:
        """End it at once, without a checkpoint: its next start recovers from the log."""
        self._run(self._control, "stop", "-m", "immediate", "-D", self._data)

    def make_data(self) -> None:
        """Make the folder of its data."""
        initdb = self._control.with_name("initdb")
        how = ("--no-sync", "-A", "trust", "-U", "perfledger", "-E", "UTF8")
        self._run(initdb, *how, "-D", self._data)

    @property
    def _data(self) -> Path:
        return self._folder / "data"

    def _run(self, *arguments: object) -> None:
        subprocess.run(
            [str(argument) for argument in arguments],
            check=True,
            cwd=self._folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            user=self._user,
            group=self._group,
            extra_groups=[] if self._user else None,
        )


@contextmanager
def running_postgres(control: Path, *, options: str = "") -> Generator[PostgresServer]:
    """Run a new server; `control` is the program pg_ctl."""
    folder = Path(tempfile.mkdtemp(prefix="perfledger-postgres-"))
    server = PostgresServer(control, folder, options=options)
    server.make_data()
    server.start()
    yield server
    server.stop_hard()
    shutil.rmtree(folder)

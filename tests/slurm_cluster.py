"""A Slurm of one machine for tests: munged, slurmctld and slurmd on the loopback interface.

It has accounting (slurmdbd and MariaDB, on a socket of its own) where those are installed.
"""

import getpass
import os
import platform
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

READY_S = 600.0  # which a busy machine does not reach
# A node with fake cores and a fake GPU. The partition `urgent` takes the node from `bench`.
CONFIGURATION = """
ClusterName=one
SlurmctldHost={host}(127.0.0.1)
AuthType=auth/munge
AuthInfo=socket={folder}/munge.sock
CredType=cred/munge
SlurmUser={user}
SlurmdUser={user}
SlurmctldPort={ports[0]}
SlurmdPort={ports[1]}
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerType=sched/backfill
SchedulerParameters=batch_sched_delay=0,sched_interval=1,sched_min_interval=0,bf_interval=1
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
KillWait=1
JobCompType=jobcomp/none
JobAcctGatherType=jobacct_gather/none
ReturnToService=2
SlurmdParameters=config_overrides
GresTypes=gpu
NodeName={host} NodeAddr=127.0.0.1 CPUs=2 RealMemory=2000 Gres=gpu:h200:1 State=UNKNOWN
PartitionName=bench Nodes=ALL Default=YES MaxTime=INFINITE PriorityTier=1 State=UP
PartitionName=urgent Nodes=ALL MaxTime=INFINITE PriorityTier=2 State=UP
"""
ACCOUNTING = """
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=127.0.0.1
AccountingStoragePass={folder}/munge.sock
AccountingStoragePort={port}
AccountingStorageTRES=gres/gpu
"""
ACCOUNTING_DAEMON = """
AuthType=auth/munge
AuthInfo=socket={folder}/munge.sock
DbdHost={host}
DbdAddr=127.0.0.1
DbdPort={port}
SlurmUser={user}
LogFile={folder}/slurmdbd.log
PidFile={folder}/slurmdbd.pid
StorageType=accounting_storage/mysql
StorageHost=localhost
StorageUser={user}
StorageLoc=accounting
"""
ACCOUNTING_PROGRAMS = ("slurmdbd", "mariadbd")
_SEARCHED = os.pathsep.join(["/usr/sbin", os.environ.get("PATH", "")])


class SlurmCluster:
    """A cluster whose commands find it by `SLURM_CONF`."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.host = folder, platform.node().partition(".")[0]
        self.configuration = folder / "slurm.conf"
        self.has_accounting = all(shutil.which(one, path=_SEARCHED) for one in ACCOUNTING_PROGRAMS)
        self._processes: dict[str, subprocess.Popen[bytes]] = {}

    def control(self, *words: str) -> str:
        """Run scontrol."""
        return self._answer("scontrol", *words)

    def node_state(self, state: str) -> None:
        """Take the only node down, or put it back to work."""
        self.control("update", f"nodename={self.host}", f"state={state}", "reason=test")

    def start(self) -> None:
        """Start all daemons, and wait until the node is idle."""
        for name in ("munge", "state", "spool"):
            (self.folder / name).mkdir()
        key = self.folder / "munge" / "key"
        key.write_bytes(os.urandom(1024))
        key.chmod(0o400)
        (self.folder / "gpu0").touch()
        (self.folder / "gres.conf").write_text(f"Name=gpu Type=h200 File={self.folder}/gpu0\n")
        ports = _free_ports(3)
        accounting = ACCOUNTING if self.has_accounting else ""
        self.configuration.write_text(
            (CONFIGURATION + accounting).format(
                folder=self.folder,
                host=self.host,
                user=getpass.getuser(),
                ports=ports,
                port=ports[2],
            )
        )
        munged = ("munged", "--foreground", "--force", f"--key-file={key}")
        files = ("socket=munge.sock", "pid-file=munge.pid", "log-file=munge.log", "seed-file=seed")
        self._start(*munged, *(f"--{file.replace('=', f'={self.folder}/')}" for file in files))
        _until((self.folder / "munge.sock").exists)
        if self.has_accounting:
            self._start_accounting(ports[2])
        self._start("slurmctld", "-D", "-f", str(self.configuration))
        self._start("slurmd", "-D", "-f", str(self.configuration), "-N", self.host)
        _until(lambda: "idle" in self._answer("sinfo", "--noheader", "--format=%t"))

    def stop(self) -> None:
        """End the jobs and the daemons."""
        with suppress(subprocess.CalledProcessError):
            self._answer("scancel", "--quiet", f"--user={getpass.getuser()}")
        for process in reversed(self._processes.values()):
            process.terminate()
            process.wait()

    def _start_accounting(self, port: int) -> None:
        """Start the database and its daemon, and add this cluster to it."""
        user, data = getpass.getuser(), self.folder / "database"
        data.mkdir()
        database = self.folder / "database.sock"
        self._start(
            "mariadbd",
            "--no-defaults",
            f"--datadir={data}",
            f"--user={user}",
            f"--socket={database}",
            f"--pid-file={self.folder}/database.pid",
            "--skip-networking",
            "--skip-grant-tables",
            "--innodb-flush-log-at-trx-commit=0",
        )
        _until(database.exists)
        daemon = self.folder / "slurmdbd.conf"
        daemon.write_text(
            ACCOUNTING_DAEMON.format(folder=self.folder, host=self.host, user=user, port=port)
        )
        daemon.chmod(0o600)
        self._start("slurmdbd", "-D", MYSQL_UNIX_PORT=str(database))
        add = ("sacctmgr", "--immediate", "add", "cluster", "one")
        _until(lambda: "one" in self._answer(*add))  # refused until the daemon listens

    def _start(self, *words: str, **variables: str) -> None:
        environment = os.environ | {"SLURM_CONF": str(self.configuration)} | variables
        program = shutil.which(words[0], path=_SEARCHED) or words[0]
        with (self.folder / f"{words[0]}.out").open("wb") as output:
            self._processes[words[0]] = subprocess.Popen(
                [program, *words[1:]],
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
            )

    def _answer(self, *words: str) -> str:
        environment = os.environ | {"SLURM_CONF": str(self.configuration)}
        done = subprocess.run(
            words, env=environment, capture_output=True, text=True, check=False, timeout=READY_S
        )
        return done.stdout


@contextmanager
def slurm_cluster() -> Iterator[SlurmCluster]:
    """Start a cluster in a folder of its own, and remove both."""
    folder = Path(f"/tmp/perfledger-slurm-{os.getpid()}")  # sockets have short paths
    folder.mkdir(mode=0o755)
    cluster = SlurmCluster(folder)
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.stop()
        shutil.rmtree(folder, ignore_errors=True)


def _free_ports(count: int) -> list[int]:
    with ExitStack() as stack:
        probes = [stack.enter_context(socket.socket()) for _ in range(count)]
        for probe in probes:
            probe.bind(("127.0.0.1", 0))
        return [probe.getsockname()[1] for probe in probes]


def _until(condition: Callable[[], bool]) -> None:
    last = time.monotonic() + READY_S
    while not condition():
        if time.monotonic() > last:
            msg = "the test's Slurm did not start"
            raise TimeoutError(msg)
        time.sleep(0.05)

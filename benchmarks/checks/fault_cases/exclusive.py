"""Workloads that need what only one process can have: base and head must not run at once."""

from fault_cases.case import NOT_MEASURED, REGRESSED, SILENT, FaultCase, replaced, step

RETURN = "return sum(n * n for n in range(30_000))"
SLOW = "return sum(n * n for n in range(90_000))"
IN_TURN = "measured one after the other, because"


def exclusive(before: str, *, teardown: str = "") -> str:
    """Return a benchmark whose set-up has these lines, and whose step is a sum."""
    lines = "\n".join(f"    {line}" for line in before.splitlines())
    end = f"teardown={teardown}" if teardown else ""
    return (
        "import fcntl, os, socket, sqlite3, tempfile, time\n"
        "from multiprocessing import resource_tracker, shared_memory\n"
        "import perfledger\n"
        "PLACE = os.path.join(os.environ.get('XDG_CACHE_HOME', tempfile.gettempdir()), 'one')\n"
        f"@perfledger.workload({end})\ndef steps():\n{lines}\n"
        f"    def step():\n        {RETURN}\n    step.held = held\n    return step\n"
    )


PORT = exclusive("held = socket.socket()\nheld.bind(('127.0.0.1', 28_517))\nheld.listen()")
LOCK = exclusive("held = open(PLACE, 'w')\nfcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)")
FOLDER = exclusive("os.mkdir(PLACE)\nheld = PLACE", teardown="lambda _: os.rmdir(PLACE)")
DATABASE = exclusive(
    "held = sqlite3.connect(PLACE, timeout=0.1, isolation_level=None)\n"
    "held.execute('create table if not exists t (x)')\nheld.execute('begin exclusive')"
)
MEMORY = exclusive(
    "held = shared_memory.SharedMemory('perfledger-one', create=True, size=8)",
    teardown="lambda step: (step.held.close(), step.held.unlink())",
)
IMPORT = "import socket\nHELD = socket.socket()\nHELD.bind(('127.0.0.1', 28_519))\n" + step(RETURN)
WAITING = exclusive("held = open(PLACE, 'w')\nfcntl.flock(held, fcntl.LOCK_EX)")
TAKEN = exclusive("held = socket.socket()\nheld.bind(('127.0.0.1', 28_520))")


def control(name: str, text: str, *, words: str = IN_TURN) -> FaultCase:
    """Return a workload whose code does not change what its step does."""
    return FaultCase(
        name=name,
        group="one at a time",
        base={"benchmarks/b.py": text},
        head={"benchmarks/b.py": f"import sys\n{text}"},
        expected=SILENT,
        words=words,
    )


EXCLUSIVE = (
    control("a fixed port", PORT),
    control("a lock", LOCK),
    control("a folder of a fixed name", FOLDER),
    control("a locked database", DATABASE),
    control("shared memory of a fixed name", MEMORY),
    control("a fixed port at import", IMPORT, words=""),
    control("a lock that is waited for", WAITING),
    FaultCase(
        name="three times the work behind a fixed port",
        group="one at a time",
        base={"benchmarks/b.py": PORT},
        head={"benchmarks/b.py": replaced(PORT, RETURN, SLOW)},
        expected=REGRESSED,
        words=IN_TURN,
    ),
    FaultCase(
        name="a port that head alone takes twice",
        group="one at a time",
        base={"benchmarks/b.py": TAKEN},
        head={
            "benchmarks/b.py": replaced(
                TAKEN,
                "    def step",
                "    socket.socket().bind(('127.0.0.1', 28_520))\n    def step",
            )
        },
        expected=NOT_MEASURED,
        words="in use",
    ),
)

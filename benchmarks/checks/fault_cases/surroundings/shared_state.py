"""Faults and controls of what both sides find outside of their checkouts: caches, servers, data."""

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from fault_cases.case import NOT_GREEN, REGRESSED, SILENT, FaultCase, replaced
from fault_cases.code import CALLER, PACKAGE, SLOW_PACKAGE
from fault_cases.work import JAX

CACHE = "Path(os.environ.get('XDG_CACHE_HOME') or Path.home() / '.cache') / 'mypkg'"
# As joblib and diskcache do by default: the key has the arguments, and not all of the code.
KEPT_RESULTS = f"""
import os, pickle
from pathlib import Path
FOLDER = {CACHE}
ROUNDS = 30_000
def compute(rows):
    return [number * number for _ in range(ROUNDS // 3_000) for number in range(rows)][:rows]
def work(rows=40_000):
    file = FOLDER / f"squares-{{rows}}.pickle"
    if not file.exists():
        FOLDER.mkdir(parents=True, exist_ok=True)
        part = file.with_suffix(f".{{os.getpid()}}")
        part.write_bytes(pickle.dumps(compute(rows)))
        part.rename(file)
    return pickle.loads(file.read_bytes())
"""
# As the modules of models that transformers copies into its cache.
COPIED_CODE = f"""
import importlib.util, os, shutil, sys
from pathlib import Path
FOLDER = {CACHE} / "modules"
def load(name):
    FOLDER.mkdir(parents=True, exist_ok=True)
    file = FOLDER / f"{{name}}.py"
    if not file.exists():
        shutil.copy(Path(__file__).with_name(f"{{name}}.py"), file)
    spec = importlib.util.spec_from_file_location(f"mypkg_modules.{{name}}", file)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module
work = load("kernels").work
"""
SERVER = """
import os, socket, subprocess, sys, time
from pathlib import Path
PLACE = str(Path(os.environ.get("XDG_CACHE_HOME") or "/tmp") / "mypkg.socket")
def connect():
    peer = socket.socket(socket.AF_UNIX)
    peer.connect(PLACE)
    return peer
def start():
    try:
        connect().close()
    except OSError:
        subprocess.Popen([sys.executable, "-m", "mypkg.server", PLACE], start_new_session=True)
        for _ in range(500):
            try:
                return connect().close()
            except OSError:
                time.sleep(0.01)
def work():
    with connect() as peer:
        peer.sendall(b"a")
        return int(peer.recv(100))
"""
SERVES = (
    PACKAGE
    + """
import os, socket, sys
def main(place):
    listener = socket.socket(socket.AF_UNIX)
    if os.path.exists(place):
        os.unlink(place)
    listener.bind(place)
    listener.listen()
    while True:
        peer, _ = listener.accept()
        with peer:
            if peer.recv(1):
                peer.sendall(str(work()).encode())
main(sys.argv[1])
"""
)
SERVED_CALLER = """
import perfledger
from mypkg import start, work
@perfledger.workload()
def steps():
    start()
    return work
"""
TABLE = f"""
import os, sqlite3
from pathlib import Path
FOLDER = {CACHE}
ROWS = 3
def work():
    FOLDER.mkdir(parents=True, exist_ok=True)
    with sqlite3.connect(FOLDER / "steps.db", timeout=20) as table:
        table.execute("pragma synchronous = off")
        table.execute("create table if not exists steps (number int)")
        table.executemany("insert into steps values (?)", [(1,)] * ROWS)
        return table.execute("select sum(number * number % 7) from steps").fetchone()[0]
"""
NUMBA = """
import perfledger
from mypkg import work
@perfledger.workload()
def steps():
    return lambda: work(20_000)
"""
NUMBA_PACKAGE = """
from numba import njit
from mypkg.helper import term
@njit(cache=True)
def work(rounds):
    total = 0
    for number in range(rounds):
        total += term(number)
    return total
"""
TERM = """
from numba import njit
@njit(cache=True)
def term(number):
    return (number * number) % 7
"""
SLOW_TERM = replaced(
    TERM,
    "    return (number * number) % 7",
    "    total = 0\n    for each in range(9):\n        total += (number * each) % 7\n"
    "    return total",
)
PREPARED = f"""
import os
from pathlib import Path
import perfledger
FILE = {CACHE} / "rows.txt"
@perfledger.workload()
def steps():
    if not FILE.exists():
        FILE.parent.mkdir(parents=True, exist_ok=True)
        part = FILE.with_suffix(f".{{os.getpid()}}")
        part.write_text("17 " * 8_000)
        part.rename(FILE)
    rows = FILE.read_text().split()
    return lambda: sum(int(row) ** 2 for row in rows)
"""
OWN_FILE = """
import tempfile
from pathlib import Path
import perfledger
@perfledger.workload()
def steps():
    folder = tempfile.TemporaryDirectory()
    file = Path(folder.name) / "rows.txt"
    def step():
        file.write_text("17 " * 8_000)
        return sum(int(row) ** 2 for row in file.read_text().split())
    step.folder = folder
    return step
"""


def shared_folder(variable: str, **others: str) -> Callable[[Path, Path], Mapping[str, str]]:
    """Return what prepares a case: a folder beside the repository, named in a variable."""

    def prepare(root: Path, beside: Path) -> Mapping[str, str]:
        del root
        return {variable: str(beside / "compiled"), **others}

    return prepare


shared = partial(FaultCase, group="shared state")
SHARED_STATE = (
    shared(
        name="results that both sides find in the user's cache",
        base={"benchmarks/b.py": CALLER, "src/mypkg/__init__.py": KEPT_RESULTS},
        head={"src/mypkg/__init__.py": replaced(KEPT_RESULTS, "= 30_000", "= 90_000")},
        expected=NOT_GREEN,
        words="squares-40000.pickle",
    ),
    shared(
        name="code that both sides import from the user's cache",
        base={
            "benchmarks/b.py": CALLER,
            "src/mypkg/__init__.py": COPIED_CODE,
            "src/mypkg/kernels.py": PACKAGE,
        },
        head={"src/mypkg/kernels.py": SLOW_PACKAGE},
        expected=NOT_GREEN,
        words="kernels.py",
    ),
    shared(
        name="a server that one side starts and both call",
        base={
            "benchmarks/b.py": SERVED_CALLER,
            "src/mypkg/__init__.py": SERVER,
            "src/mypkg/server.py": SERVES,
        },
        head={"src/mypkg/server.py": replaced(SERVES, "= 30_000", "= 90_000")},
        expected=NOT_GREEN,
    ),
    shared(
        name="a table in the user's cache that both sides make longer",
        base={"benchmarks/b.py": CALLER, "src/mypkg/__init__.py": TABLE},
        head={"src/mypkg/__init__.py": replaced(TABLE, "ROWS = 3", "ROWS = 60")},
        expected=NOT_GREEN,
        words="steps.db",
    ),
    shared(
        name="numba: a slower function in a shared folder of compiled code",
        base={
            "benchmarks/b.py": NUMBA,
            "src/mypkg/__init__.py": NUMBA_PACKAGE,
            "src/mypkg/helper.py": TERM,
        },
        head={"src/mypkg/helper.py": SLOW_TERM},
        prepare=shared_folder("NUMBA_CACHE_DIR"),
        expected=REGRESSED,
    ),
    shared(
        name="jax: a slower program in a shared folder of compiled programs",
        base={"benchmarks/b.py": JAX},
        head={"benchmarks/b.py": replaced(JAX, "(x @ x @ x @ x)", "(x @ x @ x @ x @ x @ x @ x)")},
        prepare=shared_folder(
            "JAX_COMPILATION_CACHE_DIR",
            JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS="0",
            JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES="0",
        ),
        expected=REGRESSED,
    ),
    shared(
        name="data that the first process prepares in the user's cache",
        base={"benchmarks/b.py": PREPARED},
        head={"benchmarks/b.py": f"import sys\n{PREPARED}"},
        expected=SILENT,
    ),
    shared(
        name="a temporary file that each step writes and reads",
        base={"benchmarks/b.py": OWN_FILE},
        head={"benchmarks/b.py": f"import sys\n{OWN_FILE}"},
        expected=SILENT,
    ),
)

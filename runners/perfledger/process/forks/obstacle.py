"""Finds what a fork of this process would share with it, or lose, besides a copy of its memory.

A fork has one thread, whatever its parent had: a lock that another thread held stays locked, and a
pool of threads is empty. It shares open files with their positions, and memory that is mapped as
shared. Without any of these, what a fork does reaches neither its parent nor the next fork.
"""

import os
import time
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from perfledger.meters import child_processes
from perfledger.records import Framework

PROCESS = Path("/proc/self")
# A joined thread disappears from the kernel's list a little later.
TRIES, TRY_S = 200, 0.001
NO_LIST = "this system does not list the threads of a process"
MAX_NAMES = 3  # of variables in a reason
# Prefixes of the variables that are read when a framework is imported, or its libraries are loaded:
# those that getenv(3) and os.environ are asked for while torch 2.13 and JAX 0.10 import, and their
# families. What is read later is found in a fork as well; what the interpreter and the loader read
# (PYTHON*, LD_*) was read before any file in a separate process too.
READ_FIRST = (
    # threads, and what libraries of linear algebra compute with
    *("OMP_", "GOMP_", "KMP_", "MKL", "OPENBLAS_", "GOTO_", "BLIS_", "NVPL_", "VECLIB_", "TBB_"),
    *("DNNL_", "ONEDNN_", "NPY_", "NUMPY_", "ACC_", "I_MPI_", "MPI", "OMPI_", "GFORTRAN_"),
    *("OPENSSL_", "INTEL_", "LLVM", "LC_", "LANG", "TZ"),
    # devices
    *("CUDA", "CUBLAS", "CUDNN_", "NVIDIA_", "NCCL_", "ROC", "HIP", "HSA_", "MIOPEN_"),
)
READ_FIRST_BY = {
    Framework.TORCH: (
        *("TORCH", "PYTORCH_", "ATEN_", "C10_", "KINETO_", "FX_", "COMPILE_STROBELIGHT"),
        *("TRITON_", "XNNPACK_"),
    ),
    Framework.JAX: (
        *("JAX", "XLA_", "TF_", "TPU_", "LIBTPU", "PJRT_", "GCS_", "GRPC_", "CHECK_VMA"),
        *("EAGER_CONSTANT_FOLDING", "LOCALTIME", "MOSAIC_", "ENABLE_PJRT"),
    ),
}
# Exceptions that change no computation or are read later: torch sets the first when its compiler is
# imported and reads it when it compiles; scikit-learn, XGBoost and TensorFlow set two on two
# runtimes of OpenMP in one process; the next chooses what XLA logs; JAX and TensorFlow set the
# others, which are read with a TPU.
READ_LATER = (
    *("TORCHINDUCTOR_CACHE_DIR", "KMP_DUPLICATE_LIB_OK", "KMP_INIT_AT_FORK"),
    *("TF_CPP_MIN_LOG_LEVEL", "TPU_SKIP_MDS_QUERY", "TPU_ML_PLATFORM", "TPU_ML_PLATFORM_VERSION"),
)


@dataclass(frozen=True, slots=True)
class OpenState:
    """The files that a process has open, by device and inode, and its shared writable mappings."""

    files: frozenset[tuple[int, int]] = frozenset()
    mappings: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class StartSettings:
    """What a framework reads once, when it is imported: the environment, and the cores."""

    environment: Mapping[str, str]
    cores: frozenset[int]


def start_settings() -> StartSettings:
    """Return the settings of this process now."""
    cores = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else ()
    return StartSettings(dict(os.environ), frozenset(cores))


def late_settings(before: StartSettings | None, frameworks: Iterable[Framework]) -> str:
    """Return in one clause what was set after the frameworks were imported, "" if nothing was.

    A separate process imports the file first: there, settings made before the file imports a
    framework take effect. Variables that no framework reads at import take effect here as well.
    `before` is None if no framework was imported before the file.
    """
    if before is None:
        return ""
    loaded = sorted(frameworks)
    now, read_by = start_settings(), " and ".join(loaded)
    read_first = (*READ_FIRST, *(prefix for each in loaded for prefix in READ_FIRST_BY[each]))
    names = sorted(
        name
        for name in before.environment.keys() | now.environment.keys()
        if before.environment.get(name) != now.environment.get(name)
        and name.startswith(read_first)
        and name not in READ_LATER
    )
    if names:
        more = f" and {len(names) - MAX_NAMES} more" if len(names) > MAX_NAMES else ""
        name_list = ", ".join(names[:MAX_NAMES]) + more
        return f"its imports set {name_list}, which {read_by} may have read before"
    if now.cores != before.cores:
        return f"its imports choose the cores, which {read_by} counted before"
    return ""


def open_state() -> OpenState:
    """Return what is open now; nothing if the system does not list it."""
    try:
        return OpenState(frozenset(_files()), frozenset(_shared_mappings()))
    except OSError:
        return OpenState()


def fork_obstacle(before: OpenState) -> str:
    """Return in one clause why forks of this process would not be independent, "" if they are.

    `before` is what was open before the user's code was imported. OpenBLAS ends its threads at a
    fork and starts new ones afterwards, as do other libraries with fork handlers
    (pthread_atfork(3)): a fork that only exits shows which threads are left.
    """
    try:
        if child_processes.has_children():
            return "its imports leave a process running"
        if _threads() > 1:
            _fork_and_exit()
        if threads := _lasting_threads():
            return f"its imports leave {threads} thread{'s' if threads > 1 else ''} running"
        now = open_state()
        if now.files - before.files:
            return "its imports leave a file or a connection open"
        if now.mappings - before.mappings:
            return "its imports leave memory that processes share"
    except OSError:
        return NO_LIST
    return ""


def quiet_fork() -> int:
    """Fork without warnings: Python's and JAX's are about threads, and there are no other threads.

    With `-W error` such a warning would end the process.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return os.fork()


def _files() -> set[tuple[int, int]]:
    """Return the open files; a copy of a descriptor is the same file."""
    files: set[tuple[int, int]] = set()
    for name in os.listdir(PROCESS / "fd"):  # noqa: PTH208 - names, without a Path for each
        try:
            status = os.fstat(int(name))
        except OSError:  # the descriptor that listed the folder
            continue
        files.add((status.st_dev, status.st_ino))
    return files


def _shared_mappings() -> set[str]:
    """Return the lines of mappings that are shared and writable, without their addresses."""
    lines = (PROCESS / "maps").read_text(encoding="utf-8", errors="replace").splitlines()
    mappings = (line.partition(" ")[2] for line in lines)
    return {each for each in mappings if each[1] == "w" and each[3] == "s"}


def _threads() -> int:
    return len(os.listdir(PROCESS / "task"))  # noqa: PTH208 - names, without a Path for each


def _lasting_threads() -> int:
    """Return the number of threads beside this one that do not end by themselves at once."""
    tries = TRIES
    while (threads := _threads() - 1) and tries:
        time.sleep(TRY_S)
        tries -= 1
    return threads


def _fork_and_exit() -> None:
    child = quiet_fork()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)

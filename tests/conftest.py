"""What every suite may need of the machine: system packages, and a PostgreSQL server."""

import gc
import os
import shutil
import subprocess
import sys
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import NoReturn
from uuid import uuid4

import pytest
from hypothesis import settings

from tests.kubernetes_api import kubernetes_api, rules_of_guide
from tests.service.servers.postgres_server import running_postgres
from tests.slurm_cluster import slurm_cluster
from tests.suite.shared_imports import import_a_share
from tests.suite.tries import IS_CI, is_ci_only, tries

# The same examples of a law on every machine, however busy: no test may flicker.
settings.register_profile("repeatable", deadline=None, derandomize=True, max_examples=tries(100))
settings.load_profile("repeatable")

# Before numpy is imported: threads of one matrix product take turns with those of other workers.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

POSTGRES_FOLDERS = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)


@pytest.fixture(scope="session", autouse=True)
def all_cores():
    """Let checks use all cores, however busy they are: what a check says must not depend on it."""
    os.environ["PERFLEDGER_CORES"] = "all"
    yield
    os.environ.pop("PERFLEDGER_CORES", None)


@pytest.fixture(scope="session", autouse=True)
def own_lock_folder(tmp_path_factory):
    """Let the checks of one test process wait for one another, not for those of another."""
    folder = tmp_path_factory.mktemp("device-locks")
    os.environ["PERFLEDGER_LOCK_FOLDER"] = str(folder)
    yield
    os.environ.pop("PERFLEDGER_LOCK_FOLDER", None)


@pytest.fixture(scope="session")
def require_system():
    """Find a program of a system package, or skip the test loudly; never skip where CI asks."""

    def require(program: str, *, package: str, folders=()) -> Path:
        search = os.pathsep.join([*map(str, folders), os.environ.get("PATH", "")])
        found_program = shutil.which(program, path=search)
        if found_program is not None:
            return Path(found_program)
        leave_out(f"{program} is not installed (system package {package})")

    return require


@pytest.fixture(scope="session")
def bwrap(require_system):
    """Bubblewrap; where it cannot make namespaces, the test is skipped loudly, never in CI."""
    program = require_system("bwrap", package="bubblewrap")
    command = [program, "--ro-bind", "/", "/", "--unshare-pid", "--unshare-net", "true"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        leave_out(f"bwrap makes no namespaces here: {done.stderr.strip()}")
    return program


@pytest.hookimpl(tryfirst=True)
def pytest_make_parametrize_id(val):
    """Name bytes by their number: those of a gzip header differ with the time of day."""
    return f"{len(val)} bytes" if isinstance(val, bytes) else None


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers():
    """Return three workers for two cores: a third of the time of slow tests is waiting."""
    cores = len(os.sched_getaffinity(0))
    return cores + cores // 2


FROZEN_MODULES = [0]  # so many were loaded at the last freeze
MANY_MODULES = 100  # torch, jax or matplotlib


@pytest.hookimpl(wrapper=True)
def pytest_collection(session):
    """Search for no garbage while modules and tests are made: they live to the end."""
    gc.disable()
    try:
        folder = session.config.invocation_params.dir
        import_a_share([folder / each for each in session.config.args])
        return (yield)
    finally:
        gc.enable()


def pytest_collection_finish():
    """Leave modules and tests, which live to the end, out of every search for garbage."""
    leave_out_of_garbage()
    if "numba" in sys.modules:
        from perfledger_baselines.history.segmentation import compiled_loops  # noqa: PLC0415
        from tests.suite.compiler_lock import compile_in_turns  # noqa: PLC0415 - numba is slow to import

        compile_in_turns(Path(compiled_loops.__file__))


def pytest_runtest_teardown():
    """Leave out what a test imported, too: a search for garbage in torch takes half a second."""
    if len(sys.modules) > FROZEN_MODULES[0] + MANY_MODULES:
        leave_out_of_garbage()


def leave_out_of_garbage():
    gc.collect()
    gc.freeze()
    FROZEN_MODULES[0] = len(sys.modules)


def pytest_runtest_setup(item):
    if not IS_CI and is_ci_only(item):
        # One place and one reason: the summary folds these skips into one line with their number.
        pytest.skip("LEFT TO CI: slow (PERFLEDGER_ALL_TRIES=1 runs them)")
    if item.get_closest_marker("torch") is not None and find_spec("torch") is None:
        leave_out("torch is not installed (pip install 'perfledger[torch]')")


def leave_out(why: str) -> NoReturn:
    """Skip the test with this reason, or fail where CI asks for everything."""
    reason = f"NOT TESTED: {why}"
    if os.environ.get("PERFLEDGER_REQUIRE_SYSTEM") == "1":
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason)


@pytest.fixture(scope="session")
def started_slurm(require_system):
    """A throw-away Slurm of one machine."""
    for program in ("munged", "slurmctld", "slurmd", "sbatch"):
        require_system(program, package="slurm-wlm and munge", folders=["/usr/sbin"])
    with slurm_cluster() as cluster:
        yield cluster


@pytest.fixture
def slurm(started_slurm, monkeypatch):
    """The Slurm that this process's sbatch and squeue find."""
    monkeypatch.setenv("SLURM_CONF", str(started_slurm.configuration))
    return started_slurm


@pytest.fixture
def kubernetes(require_system, tmp_path_factory, monkeypatch):
    """The API server that this process's kubectl finds, with the rights of the guide."""
    require_system("kubectl", package="kubernetes-client")
    with kubernetes_api(tmp_path_factory.mktemp("kubernetes"), rules_of_guide()) as api:
        monkeypatch.setenv("KUBECONFIG", str(api.kubeconfig))
        yield api


@pytest.fixture(scope="session")
def postgres_server(require_system):
    """A throw-away PostgreSQL on a free loopback port; yields the URL of its first database."""
    initdb = require_system("initdb", package="postgresql", folders=POSTGRES_FOLDERS)
    with running_postgres(initdb.with_name("pg_ctl"), options="-c fsync=off") as server:
        yield server.url


@pytest.fixture
def own_postgres(require_system):
    """A PostgreSQL of its own, which a test may stop: it keeps what it has acknowledged."""
    initdb = require_system("initdb", package="postgresql", folders=POSTGRES_FOLDERS)
    with running_postgres(initdb.with_name("pg_ctl")) as server:
        yield server


@pytest.fixture(scope="session")
def new_database(postgres_server):
    """Return a context manager of a PostgreSQL database; yields its URL."""
    import psycopg  # noqa: PLC0415 - an extra that not every user has

    @contextmanager
    def create(*, template="template1"):
        name = f"test_{uuid4().hex}"
        address = postgres_server.replace("+psycopg", "")
        with psycopg.connect(address, autocommit=True) as connection:
            connection.execute(f"create database {name} template {template}")
            yield postgres_server.removesuffix("postgres") + name
            connection.execute(f"drop database {name} with (force)")

    return create


@pytest.fixture
def postgres_url(new_database):
    """The URL of an empty PostgreSQL database."""
    with new_database() as url:
        yield url

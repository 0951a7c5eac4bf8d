"""Real repositories with packages that are installed as copies."""

import os
import subprocess
import sys
import sysconfig
import zipfile
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from perfledger.protocol import ChildRequest, Command, MeasuringEffort
from perfledger.records import Side
from perfledger_runners.checkouts.repository import Repository
from perfledger_runners.checkouts.source_tree import read_source_tree
from perfledger_runners.children.harness import prepare_harness
from perfledger_runners.children.interpreter import Interpreter
from perfledger_runners.environments.derived_build import build_inputs
from perfledger_runners.measuring.paired_runs import measure_pairs
from perfledger_service.settings.check import CheckSettings
from perfledger_service.usecases.check.side_code import build_code, pair_code
from perfledger_service.usecases.check.workloads.plan import plan_workloads
from perfledger_service.usecases.inputs.workload_choice import WorkloadChoice
from tests.suite.without_kernels import WithoutKernels

IDENTITY = ("-c", "user.name=test", "-c", "user.email=test@example.invalid")
EXTENSION = sysconfig.get_config_var("EXT_SUFFIX")
WORKLOAD = """
import perfledger

@perfledger.workload(device="cpu")
def step():
    import mypkg

    def run():
        from mypkg import late
        late.work()
    return run
"""
QUICK = MeasuringEffort(
    min_steps=2, max_steps=2, min_seconds=0.0, max_seconds=0.1, min_warmups=1, max_warmups=1
)
METADATA = "Metadata-Version: 2.1\nName: {}\nVersion: {}\n"


class OnePair(WithoutKernels):
    """A stopping rule that is content with one pair."""

    def __init__(self):
        self.open = frozenset()

    def start(self, workloads):
        self.open = frozenset(workloads)

    def add(self, base, head):
        self.open -= {base.workload, head.workload}

    def unfinished(self):
        return self.open

    def next_pair(self, _):
        return None

    def futile(self, _):
        return frozenset()

    def changes(self):
        return frozenset()


class Project:
    """A repository with a package, and a folder of installed packages with a copy of it."""

    WORKLOAD = WORKLOAD

    def __init__(self, folder, layout):
        self.root = folder / "repository"
        self.site = folder / "venv" / "site-packages"
        self.cache = folder / "cache"
        self.layout = layout
        self.variables = {}
        self.python = Path(sys.executable)
        self.site.mkdir(parents=True)
        self.root.mkdir()
        self.git("init", "-q", "-b", "main")
        self.write(".gitignore", "build\n__pycache__\n*.egg-info\n")
        self.write("perfledger.toml", 'paths = ["bench.py"]\n')
        self.write("bench.py", WORKLOAD)
        self.write(f"{layout}/mypkg/__init__.py", "NAME = 'mypkg'\n")

    def git(self, *arguments):
        subprocess.run(["git", *IDENTITY, *arguments], cwd=self.root, check=True)

    def write(self, path, text):
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def commit(self):
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", "a change")

    def change(self, path, before, after):
        """Commit a file with one text, and then with another."""
        self.write(path, before)
        self.commit()
        self.write(path, after)
        self.commit()

    def write_wheel(self, name, version, text, *, folder="wheels"):
        """Write a wheel with one module into the repository."""
        facts = f"{name}-{version}.dist-info"
        wheel = self.root / folder / f"{name}-{version}-py3-none-any.whl"
        wheel.parent.mkdir(exist_ok=True)
        with zipfile.ZipFile(wheel, "w") as file:
            file.writestr(f"{name}.py", text)
            file.writestr(f"{facts}/METADATA", METADATA.format(name, version))
            file.writestr(f"{facts}/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
            file.writestr(f"{facts}/RECORD", "")

    def write_submodule(self, path, files):
        """Commit files in a submodule, which is added first if necessary."""
        origin = self.root.parent / "submodule"
        if not origin.exists():
            self.git("init", "-q", "-b", "main", str(origin))
            self.git("-C", str(origin), "commit", "-q", "--allow-empty", "-m", "first")
            local = ("-c", "protocol.file.allow=always")
            self.git(*local, "submodule", "add", "-q", str(origin), path)
        for name, text in files.items():
            self.write(f"{path}/{name}", text)
        self.git("-C", path, "add", "-A")
        self.git("-C", path, "commit", "-q", "-m", "a change")

    def install_wheel(self, folder):
        """Unpack a folder's wheels where the user's packages are."""
        for wheel in (self.root / folder).glob("*.whl"):
            with zipfile.ZipFile(wheel) as file:
                file.extractall(self.site)

    def install_copy(self, *, compiled=False):
        """Copy the package of the last but one commit; its extension is never imported."""
        names = ("__init__", "late")
        (self.site / "mypkg").mkdir()
        for name in names:
            text = subprocess.run(
                ["git", "show", f"HEAD~1:{self.layout}/mypkg/{name}.py"],
                cwd=self.root,
                check=True,
                capture_output=True,
            ).stdout
            (self.site / "mypkg" / f"{name}.py").write_bytes(text)
        if compiled:
            (self.site / "mypkg" / f"_C{EXTENSION}").write_bytes(b"machine code")

    def environment(self):
        return {
            **{name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ},
            "PYTHONPATH": str(self.site),
            "XDG_CACHE_HOME": str(self.cache),
            "PIP_NO_INDEX": "1",
            **self.variables,
        }

    @contextmanager
    def code(self, harness, **settings):
        repository = Repository.open(self.root)
        interpreter = Interpreter(self.python, sys.version_info[:3])
        check_settings = CheckSettings(**settings)
        names = ("HEAD~1", "HEAD")
        shas = [repository.resolve(name).sha for name in names]
        trees = [
            read_source_tree(repository, sha, import_paths=check_settings.import_paths)
            for sha in shas
        ]
        with ExitStack() as stack:
            codes = []
            for name, sha, tree in zip(names, shas, trees, strict=True):
                checkout = stack.enter_context(repository.worktree(sha, harness.folder / name))
                request = ChildRequest(
                    command=Command.LIST,
                    root=str(checkout),
                    repository=str(self.root),
                    paths=("bench.py",),
                    device="cpu",
                    effort=QUICK,
                )
                code = build_code(
                    tree,
                    request,
                    check_settings,
                    inputs=build_inputs(*trees, paths=request.paths),
                    interpreter=interpreter,
                    environment=self.environment(),
                )
                codes.append(stack.enter_context(code))
            base, head = codes
            yield pair_code(base, head, check_settings)

    def measure(self, **settings):
        """Measure one pair; return the runs by side, the failures and the notes."""
        interpreter = Interpreter(self.python, sys.version_info[:3])
        with (
            prepare_harness(interpreter, environment=self.environment()) as harness,
            self.code(harness, **settings) as code,
        ):
            base, head = (code.discover(harness, side) for side in Side)
            plan = plan_workloads(base, head, choice=WorkloadChoice())
            paired = measure_pairs(
                harness,
                code.requests,
                plan.to_measure,
                OnePair(),
                seed=1,
                max_pairs=1,
                budget_s=600.0,
                check_run=code.origin.failure,
            )
            notes = code.notes(base, head)
        runs = {run.side: run for run in paired.runs}
        return runs, plan.failures + paired.failures, notes


@pytest.fixture
def project(tmp_path):
    return lambda layout="python": Project(tmp_path, layout)

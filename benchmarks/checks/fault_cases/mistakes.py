"""Faults and controls of those who adopt the tool in a repository of torch or JAX."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path

from scratch_repository import commit, git

from fault_cases.case import (
    BENCHMARK,
    NOT_GREEN,
    NOT_MEASURED,
    REGRESSED,
    SILENT,
    FaultCase,
    replaced,
)
from fault_cases.checkouts import SUBMODULE
from fault_cases.code import CALLER, PACKAGE, SLOW_PACKAGE, SLOW_STEP
from fault_cases.copies import with_path_file
from fault_cases.work import JAX

LOADER = """
import perfledger, torch
from torch.utils.data import DataLoader, Dataset
class Rows(Dataset):
    def __len__(self):
        return 1_000_000
    def __getitem__(self, index):
        return torch.tensor(float(sum(number * number for number in range(20_000))))
@perfledger.workload()
def steps():
    torch.set_num_threads(1)
    batches = iter(DataLoader(Rows(), batch_size=4, num_workers=1))
    return lambda: next(batches).sum()
"""
LAYER = """
import perfledger, torch
DEVICE = "cpu"
@perfledger.workload()
def steps():
    layer = torch.nn.Linear(512, 512, device=DEVICE)
    rows = torch.ones(256, 512, device=DEVICE)
    return lambda: layer(rows).sum()
"""
STATE = """
import dataclasses, perfledger, jax, jax.numpy as jnp
@dataclasses.dataclass
class State:
    loss: jax.Array
    steps: int
REGISTER = jax.tree_util.register_dataclass(State, ["loss"], ["steps"])
@perfledger.workload()
def steps():
    a = jnp.ones((400, 400))
    run = jax.jit(lambda x: (x @ x @ x @ x).sum())
    return lambda: {"seen": 1, "state": State(run(a), 1)}
"""
SIZED_CALLER = """
import perfledger
from pathlib import Path
from mypkg import work
@perfledger.workload()
def steps():
    size = int((Path(__file__).parents[1] / "configs" / "size.txt").read_text())
    return lambda: work(size)
"""
FROM_VARIABLE = """
import os
import perfledger
from mypkg import work
ROUNDS = int(os.environ.get("BENCH_ROUNDS", "30_000"))
@perfledger.workload()
def steps():
    return lambda: work(ROUNDS)
"""
RELATIVE = """
import perfledger
@perfledger.workload()
def steps():
    with open("data/rows.txt") as file:
        rows = file.read().split()
    return lambda: sum(int(row) ** 2 for row in rows)
"""
SLOW_BEYOND = replaced(PACKAGE, "range(rounds)", "range(max(30_000, 9 * rounds - 240_000))")
FOLDED = replaced(JAX, "lambda x: (x @ x @ x @ x)", "lambda: (a @ a @ a @ a)")


def move_submodule(root: Path, beside: Path) -> Mapping[str, str]:
    """Add a submodule to base, and check out a slower commit of it for head."""
    source = beside / "dep"
    source.mkdir()
    git(source, "init", "--quiet")
    commit(source, {"mypkg/__init__.py": PACKAGE}, "package")
    git(root, "-c", "protocol.file.allow=always", "submodule", "add", str(source), "dep")
    git(root, "commit", "--quiet", "--message", "submodule")
    commit(root / "dep", {"mypkg/__init__.py": SLOW_PACKAGE}, "slower")
    return {}


def link_workloads(root: Path, beside: Path) -> Mapping[str, str]:
    """Commit a folder of workloads that is a link."""
    del beside
    (root / "benchmarks").symlink_to("perf")
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "--message", "link")
    return {}


mistake = partial(FaultCase, group="mistakes")
MISTAKES = (
    mistake(
        name="a member of a workspace, installed from the user's clone",
        base={
            "benchmarks/b.py": CALLER,
            "packages/core/pyproject.toml": "[project]\nname = 'mypkg'\nversion = '1'\n",
            "packages/core/src/mypkg/__init__.py": PACKAGE,
        },
        head={"packages/core/src/mypkg/__init__.py": SLOW_PACKAGE},
        prepare=partial(with_path_file, line="{root}/packages/core/src"),
        expected=NOT_GREEN,
    ),
    mistake(
        name="torch: a data loader whose worker becomes slower",
        base={"benchmarks/b.py": LOADER},
        head={"benchmarks/b.py": replaced(LOADER, "20_000", "60_000")},
        expected=NOT_GREEN,
    ),
    mistake(
        name="torch: a data loader with a worker",
        base={"benchmarks/b.py": LOADER},
        head={"benchmarks/b.py": f"import sys\n{LOADER}"},
        expected=SILENT,
    ),
    mistake(
        name="torch: a layer that stays on the meta device",
        base={"benchmarks/b.py": LAYER},
        head={"benchmarks/b.py": replaced(LAYER, '"cpu"', '"meta"')},
        expected=NOT_MEASURED,
        words="cannot tell whether head still does the work",
    ),
    mistake(
        name="jax: a state that JAX does not wait for",
        base={"benchmarks/b.py": STATE},
        head={
            "benchmarks/b.py": replaced(STATE, "REGISTER = jax", "REGISTER = lambda: jax")
            + "# the line above forgets a call\n"
        },
        expected=NOT_GREEN,
    ),
    mistake(
        name="jax: a state that JAX waits for",
        base={"benchmarks/b.py": STATE},
        head={"benchmarks/b.py": f"import sys\n{STATE}"},
        expected=SILENT,
    ),
    mistake(
        name="jax: inputs that become constants",
        base={"benchmarks/b.py": JAX},
        head={"benchmarks/b.py": replaced(FOLDED, "run(a)", "run()")},
        expected=NOT_MEASURED,
        words="cannot tell whether head still does the work",
    ),
    mistake(
        name="a submodule that head moves to slower code",
        base=SUBMODULE,
        head={"README.md": "words"},
        prepare=move_submodule,
        expected=REGRESSED,
    ),
    mistake(
        name="a folder of workloads that is a link",
        base={"perf/b.py": BENCHMARK},
        head={"perf/b.py": SLOW_STEP},
        prepare=link_workloads,
        expected=REGRESSED,
    ),
    mistake(
        name="three times the data at a path below the working folder",
        base={"benchmarks/b.py": RELATIVE, "data/rows.txt": "17 " * 8000},
        head={"data/rows.txt": "17 " * 24_000},
        expected=REGRESSED,
    ),
    mistake(
        name="slower code and a smaller size that the workload reads",
        base={
            "benchmarks/b.py": SIZED_CALLER,
            "configs/size.txt": "30_000\n",
            "src/mypkg/__init__.py": PACKAGE,
        },
        head={
            "configs/size.txt": "15_000\n",
            "src/mypkg/__init__.py": replaced(PACKAGE, "range(rounds)", "range(2 * rounds)"),
        },
        expected=SILENT,  # the step is as fast, and a note says what it read
        words="files of the workloads differ.*configs/size.txt",
    ),
    mistake(
        name="a size in a variable that workloads do not get",
        base={"benchmarks/b.py": FROM_VARIABLE, "src/mypkg/__init__.py": PACKAGE},
        head={"src/mypkg/__init__.py": SLOW_BEYOND},
        prepare=lambda _root, _beside: {"BENCH_ROUNDS": "60_000"},
        expected=SILENT,  # with the usual size it is as fast, and a note says which was used
        words="BENCH_ROUNDS is set here",
    ),
)

"""A small repository that reads in many ways, and 200 and more changes of it."""

import ast

STEPS = '''"""Workloads that read in many ways."""

import json
import mmap
import os
import subprocess
from pathlib import Path

import perfledger
from pkg import core
from pkg.shapes import Shape, scale

ROOT = Path(__file__).parent.parent
LIMIT = 3


@perfledger.workload(params={"size": [10, 20]}, unit="items")
def add(size: int = 10, *, times: float = 1.5):
    config = json.loads((ROOT / "config.json").read_text())
    shape = Shape(size, depth=2)
    return lambda: core.work(int(size * times) * config["factor"]) + scale(shape, by=3)


@perfledger.workload(tags=["child"])
def child():
    words = subprocess.run(["cat", "data/words.txt"], check=True, capture_output=True).stdout
    return lambda: core.count(words) - LIMIT


@perfledger.workload()
def mapped():
    with open("data/table.bin", "rb") as file:
        view = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
    return lambda: view[0:8].count(b"a") if len(view) > 4 else None


@perfledger.workload()
def probing():
    is_fast = os.path.exists("fast") or not os.listdir("data")
    return lambda: core.work(10 if is_fast else 100)
'''
LATE = """import perfledger
from pkg.shapes import scale


@perfledger.workload()
def lazy():
    def step():
        from pkg import late

        return late.work(7) * scale(None, by=-1)

    return step
"""
CORE = """import functools

FACTOR = 2 ** 3
TABLE = {"a": 1, "b": [2.5, None, True], "c": ("x", b"y")}


@functools.lru_cache(maxsize=16)
def work(n, start=0):
    total = start
    for i in range(n):
        if i % 2 == 0 and i != 3 or i > 10**6:
            total += i * FACTOR
        else:
            total -= -i
    while total > 10**9:
        total //= 2
    return total


def count(words):
    try:
        return len(words.split())
    except ValueError as error:
        raise RuntimeError(f"{words!r:>10} is {error}") from error
    finally:
        TABLE["b"][0] += 1
"""
SHAPES = """class Shape:
    'A shape.'
    kind: str = "box"
    __slots__ = ("size", "depth")

    def __init__(self, size, depth=1):
        self.size, self.depth = size, depth

    @property
    def volume(self):
        return self.size ** self.depth


def scale(shape, *, by=1):
    volume = 1 if shape is None else shape.volume
    return [x * by for x in range(volume % 5) if x < 3][-1:] or (yield_one := 1) and abs(~by)
"""
REPOSITORY = {
    "benchmarks/steps.py": STEPS,
    "benchmarks/late.py": LATE,
    "pkg/__init__.py": '__all__ = ("core",)\nexec(open("template.txt").read())\n',
    "pkg/core.py": CORE,
    "pkg/shapes.py": SHAPES,
    "pkg/late.py": "def work(n):\n    return n << 2\n",
    "config.json": '{"factor": 2}',
    "template.txt": "GENERATED = 1\n",
    "data/words.txt": "one two three",
    "data/table.bin": "abababababab",
    "README.md": "Hello\n",
    "tests/test_core.py": "def test_core():\n    assert True\n",
}
READ = tuple(path for path in REPOSITORY if path not in {"README.md", "tests/test_core.py"})
SOURCES = tuple(path for path in READ if path.endswith(".py"))


def write(root, files):
    for path, text in files.items():
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return root


SWAPS = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.Pow: ast.Mult,
    ast.Mod: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.LShift: ast.RShift,
    ast.Lt: ast.LtE,
    ast.Gt: ast.GtE,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.And: ast.Or,
    ast.Or: ast.And,
    ast.USub: ast.UAdd,
    ast.Invert: ast.USub,
    ast.Not: ast.USub,
}


class Mutation(ast.NodeTransformer):
    """A change of one node of a tree: the one with this number."""

    def __init__(self, number):
        self.number = number
        self.is_done = False

    def generic_visit(self, node):
        changed = changed_node(node)
        if changed is not None:
            self.number -= 1
            if self.number < 0 and not self.is_done:
                self.is_done = True
                return changed
        return super().generic_visit(node)


def changed_node(node):  # noqa: C901, PLR0911 - one case for each kind of node
    if type(node) in SWAPS:
        return SWAPS[type(node)]()
    match node:
        case ast.Constant(value=bool() | None):
            return ast.Constant(value=7)
        case ast.Constant(value=int() | float() | str() | bytes() as value):
            return ast.Constant(value=value * 2 if value else 1)
        case ast.FunctionDef(decorator_list=[_, *rest]):
            return ast.FunctionDef(**{**vars(node), "decorator_list": rest})
        case ast.alias(asname=None):
            return ast.alias(name=node.name, asname=f"{node.name.replace('.', '_')}_2")
        case ast.arg():
            return ast.arg(arg=f"{node.arg}_2", annotation=node.annotation)
        case ast.Attribute():
            return ast.Attribute(value=node.value, attr=f"{node.attr}_2", ctx=node.ctx)
        case ast.Return(value=ast.expr()):
            return ast.Return(value=None)
        case ast.Assign() | ast.AugAssign() | ast.Import() | ast.ImportFrom() | ast.Raise():
            return ast.Pass()
        case _:
            return None


def mutants(source):
    """Yield the source with one node changed, for each that can be."""
    number = 0
    while True:
        mutation = Mutation(number)
        tree = ast.fix_missing_locations(mutation.visit(ast.parse(source)))
        if not mutation.is_done:
            return
        yield ast.unparse(tree)
        number += 1


def mutated_bases():
    """Yield for each mutated change what it is and what it does to a copy of the repository."""
    for path in SOURCES:
        for number, text in enumerate(mutants(REPOSITORY[path])):
            yield f"{path} {number}", lambda root, p=path, t=text: write(root, {p: t})
    for path in READ:
        yield f"no {path}", lambda root, p=path: (root / p).unlink()
        yield f"renamed {path}", lambda root, p=path: (root / p).rename(root / f"{p}.old")
        yield f"executable {path}", lambda root, p=path: (root / p).chmod(0o755)
        yield f"shadowed {path}", lambda root, p=path: (root / p).with_suffix("").mkdir()
    for path in set(READ) - set(SOURCES):
        text = REPOSITORY[path]
        for number, other in enumerate(
            (text + " ", text[1:], text[::-1] + "b", "", text.swapcase())
        ):
            yield f"{path} {number}", lambda root, p=path, t=other: write(root, {p: t})
    for path in ("mmap.py", "conftest.py", "fast", "data/more.txt", "benchmarks/__init__.py"):
        yield f"new {path}", lambda root, p=path: (root / p).touch()
    yield "linked", lambda root: (root / "fast").symlink_to("README.md")


def harmless_bases():
    """Yield copies of the repository in which only comments, layout and unread prose differ."""
    for path in SOURCES:
        lines = REPOSITORY[path].splitlines()
        ends = [node.end_lineno for node in ast.parse(REPOSITORY[path]).body]
        for end in ends:
            text = "\n".join((*lines[:end], "# a comment", "", *lines[end:], ""))
            yield lambda root, p=path, t=text: write(root, {p: t})
        yield lambda root, p=path: write(root, {p: ast.unparse(ast.parse(REPOSITORY[p]))})
    yield lambda root: write(root, {"README.md": "Something else\n"})

"""What the tests of names and docstrings read of the product: every module is parsed once."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCES = ("service", "runners", "baselines", "cost_models")
MODULES = sorted(
    path
    for source in SOURCES
    for path in (ROOT / source).rglob("*.py")
    if "migrations" not in path.parts
)
DOCUMENTED = (ast.FunctionDef, ast.ClassDef, ast.Module)
LOOPS = (ast.For, ast.AsyncFor, ast.comprehension, ast.Lambda)
BINDERS = (
    ast.FunctionDef,
    ast.AsyncFunctionDef,
    ast.arg,
    ast.ClassDef,
    ast.Name,
    ast.Attribute,
    ast.MatchAs,
    ast.MatchStar,
    ast.ExceptHandler,
)
READ = {*DOCUMENTED, *LOOPS, *BINDERS, ast.ImportFrom}


@dataclass(frozen=True, slots=True)
class Docstring:
    """The beginning of a docstring, and what has it."""

    kind: type[ast.AST]
    name: str
    word: str


@dataclass(frozen=True, slots=True)
class ModuleNames:
    """What a module calls things, with the lines."""

    bound: tuple[tuple[str, int, bool], ...]  # name, line, and whether a loop binds it
    classes: tuple[str, ...]  # of the module itself
    functions: tuple[tuple[str, int], ...]  # of the module itself
    imported: tuple[tuple[str, int], ...]  # from other modules
    docstrings: tuple[Docstring, ...]


@cache
def product_modules() -> dict[Path, ModuleNames]:
    """Return the names of every module of the product; the trees are not kept."""
    return {path: names_in(ast.parse(path.read_text(encoding="utf-8"))) for path in MODULES}


def names_in(tree: ast.Module) -> ModuleNames:
    """Return what a module calls things."""
    nodes = [node for node in ast.walk(tree) if type(node) in READ]
    imports = [node for node in nodes if isinstance(node, ast.ImportFrom)]
    documented = [node for node in nodes if isinstance(node, DOCUMENTED)]
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    return ModuleNames(
        tuple(bound_names(nodes)),
        tuple(node.name for node in tree.body if isinstance(node, ast.ClassDef)),
        tuple((node.name, node.lineno) for node in functions),
        tuple((alias.name, node.lineno) for node in imports for alias in node.names),
        tuple(
            Docstring(type(node), getattr(node, "name", "module"), word)
            for node in documented
            if (word := first_word(node))
        ),
    )


def loop_names(nodes: list[ast.AST]) -> set[ast.AST]:
    """Return the names that loops, comprehensions and lambdas bind."""
    targets = (
        node.args if isinstance(node, ast.Lambda) else node.target
        for node in nodes
        if isinstance(node, LOOPS)
    )
    return {name for target in targets for name in ast.walk(target)}


def bound_names(nodes: list[ast.AST]) -> Iterator[tuple[str, int, bool]]:
    """Yield every name that a module binds, its line, and whether a loop binds it."""
    loops = loop_names(nodes)
    for node in nodes:
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                yield name, node.lineno, False
            case ast.arg(arg=name):
                yield name, node.lineno, node in loops
            case ast.ClassDef(name=name):
                yield name.lower(), node.lineno, False
            case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
                yield name, node.lineno, node in loops
            case ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
                yield name, node.lineno, False
            case ast.ExceptHandler(name=str(name)):
                yield name, node.lineno, False
            case _:
                pass


def first_word(node: ast.FunctionDef | ast.ClassDef | ast.Module) -> str:
    """Return the word with which a docstring begins."""
    docstring = ast.get_docstring(node, clean=False) or ""
    return docstring.split(maxsplit=1)[0].rstrip(",:;") if docstring else ""

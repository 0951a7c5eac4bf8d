"""Finds which files of asv benchmarks may hold a chosen one, by their text, without imports.

asv imports all files to find a benchmark, and a file may compute for minutes while it is imported.
"""

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from perfledger.process.asv.configuration import benchmark_folders, import_root
from perfledger.process.discovery import module_name, source_files
from perfledger.protocol import BenchmarkSuite, ChildRequest

# Calls that can give a module benchmarks whose names its text does not hold.
NAMING_CALLS = frozenset({"eval", "exec", "globals", "locals", "setattr", "vars"})

# Returns whether benchmarks of a module, in whose text all of their names are, may be chosen.
MayChoose = Callable[[str, str], bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchmarkFile:
    """A file of benchmarks; `text` holds the names of all of them, None if that is not known."""

    module: str
    text: str | None


def chosen_files(
    requests: Iterable[ChildRequest], may_choose: MayChoose
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the files that may hold a chosen benchmark, by their paths, and the others.

    A file that may hold one in any of the checkouts is chosen in all of them: a benchmark that a
    change removes or renames is missed. Of other suites, no file is known.
    """
    files = [
        (path, file)
        for request in requests
        if request.suite is BenchmarkSuite.ASV
        for path, file in benchmark_files(request).items()
    ]
    chosen = {
        path for path, file in files if file.text is None or may_choose(file.module, file.text)
    }
    return tuple(sorted(chosen)), tuple(sorted({path for path, _ in files} - chosen))


def benchmark_files(request: ChildRequest) -> dict[str, BenchmarkFile]:
    """Return a checkout's files of asv benchmarks by their paths below its root."""
    root = Path(request.root).resolve()
    folders, _ = benchmark_folders(root, request.paths)
    modules = {
        file: module_name(file, (import_root(folder, root),))
        for folder in folders
        for file in source_files(folder)
    }
    sources = {file: _Source.read(file) for file in modules}
    by_name = {module.rpartition(".")[2]: file for file, module in modules.items() if module}
    return {
        file.relative_to(root).as_posix(): BenchmarkFile(
            module=module or "",
            text=None if module is None else _text_with_imports(file, sources, by_name),
        )
        for file, module in modules.items()
    }


@dataclass(frozen=True, slots=True)
class _Source:
    """A file's text, None if it may name benchmarks that are not in it.

    `origins` maps its imported names, "*" for all of a module, to the last parts of the names of
    modules that they may be from. `bases` are the names of base classes that it does not define, ""
    for an expression.
    """

    text: str | None
    origins: Mapping[str, frozenset[str]] = field(default_factory=dict[str, frozenset[str]])
    bases: frozenset[str] = frozenset()

    @classmethod
    def read(cls, file: Path) -> Self:
        """Read a file; one that cannot be parsed may name anything."""
        try:
            text = file.read_text(encoding="utf-8")
            nodes = tuple(ast.walk(ast.parse(text)))
        except (OSError, SyntaxError, ValueError, RecursionError):
            return cls(None)
        classes = [node for node in nodes if isinstance(node, ast.ClassDef)]
        bases = {_root_name(base) for node in classes for base in node.bases}
        return cls(
            None if any(map(_names_more, nodes)) else text,
            dict(_origins(nodes)),
            frozenset(bases - {node.name for node in classes} - {"object"}),
        )


def _root_name(base: ast.expr) -> str:
    """Return the first name of a base class such as `module.Base`, "" for another expression."""
    while isinstance(base, ast.Attribute):
        base = base.value
    return base.id if isinstance(base, ast.Name) else ""


def _names_more(node: ast.AST) -> bool:
    """Return whether this is a call that may name benchmarks; `type` does with three arguments."""
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name)):
        return False
    return node.func.id in NAMING_CALLS or (node.func.id == "type" and len(node.args) > 1)


def _origins(nodes: Iterable[ast.AST]) -> Iterator[tuple[str, frozenset[str]]]:
    """Yield the names that a file imports, with the modules that they may be or be from."""
    for node in nodes:
        if isinstance(node, ast.Import):
            for each in node.names:
                name = each.asname or each.name.partition(".")[0]
                yield name, frozenset({each.name.rpartition(".")[2]})
        elif isinstance(node, ast.ImportFrom):
            module = (node.module or "").rpartition(".")[2]
            for each in node.names:
                yield each.asname or each.name, frozenset({module, each.name})


def _text_with_imports(
    file: Path, sources: Mapping[Path, _Source], by_name: Mapping[str, Path]
) -> str | None:
    """Return the text of a file and of the benchmark files that it imports, None if unknown.

    Unknown is what `import *` and base classes bring from elsewhere.
    """
    texts: dict[Path, str] = {}
    waiting = [file]
    while waiting:
        path = waiting.pop()
        source = sources[path]
        needed = [source.origins.get(name, frozenset[str]()) for name in source.bases]
        needed += [modules for name, modules in source.origins.items() if name == "*"]
        if source.text is None or not all(modules & by_name.keys() for modules in needed):
            return None
        texts[path] = source.text
        imported = frozenset[str]().union(*source.origins.values()) & by_name.keys()
        waiting += [by_name[name] for name in imported if by_name[name] not in texts]
    return "\n".join(texts.values())

"""Imports the files below a checkout's paths, which register workloads."""

import importlib
import importlib.machinery
import os
import sys
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import chdir
from dataclasses import dataclass
from importlib.abc import Loader, MetaPathFinder
from pathlib import Path
from types import ModuleType

from perfledger.failure_reason import detail_of
from perfledger.records import FailureReason
from perfledger.workload import REGISTERED_WORKLOADS, Workload

OWN_NAME = "perfledger"

FileLister = Callable[[Path], Iterable[Path]]  # returns what source_files does
ImportListener = Callable[[str], object]  # is called with each path, below root, before its import


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportFailure:
    """A path that cannot be imported, and why; `module` is "" when it concerns all workloads."""

    path: str  # below root
    detail: str
    reason: FailureReason = FailureReason.RAISED
    module: str = ""


@dataclass(frozen=True, slots=True)
class ImportedWorkloads:
    """The workloads and failures from importing the user's files."""

    workloads: tuple[Workload, ...]
    broken: tuple[ImportFailure, ...]


class SiblingFinder(MetaPathFinder):
    """A finder of modules beside the imported files, for those that nothing else finds.

    A module gets its full name, `benchmarks.data` for `import data`: under two names it would
    register its workloads twice.
    """

    def __init__(self, roots: Sequence[Path]) -> None:
        self._roots = roots
        self.folders: dict[Path, None] = {}  # of the files, in their order

    def find_spec(
        self,
        fullname: str,
        path: object = None,
        target: object = None,  # noqa: ARG002 - its protocol
    ) -> importlib.machinery.ModuleSpec | None:
        """Return the spec of a top-level module in one of the folders."""
        for folder in self.folders if path is None else ():
            for file in (folder / f"{fullname}.py", folder / fullname / "__init__.py"):
                name = module_name(file, self._roots) if file.is_file() else None
                if name is not None and name != fullname:
                    return importlib.machinery.ModuleSpec(fullname, _SiblingLoader(name))
        return None


class _SiblingLoader(Loader):
    """A loader that returns, for a short name, the module of a full name."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._spec: importlib.machinery.ModuleSpec | None = None

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:  # noqa: ARG002
        """Import the module by its full name."""
        module = importlib.import_module(self._name)
        self._spec = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Restore the module's own spec; it has run already."""
        module.__spec__ = self._spec


def import_roots(root: Path, import_paths: Sequence[str]) -> tuple[Path, ...]:
    """Return the existing `import_paths` at or below `root`, absolute and in order."""
    folders = [(root / path).resolve() for path in import_paths]
    inside = (folder for folder in folders if folder.is_relative_to(root.resolve()))
    return tuple(dict.fromkeys(folder for folder in inside if folder.is_dir()))


def name_clash(root: Path, roots: Iterable[Path]) -> ImportFailure | None:
    """Return the failure of a user's package or module named perfledger, if there is one."""
    for folder in roots:
        for path in (folder / OWN_NAME / "__init__.py", folder / f"{OWN_NAME}.py"):
            if path.is_file():
                return _clash(str(path.relative_to(root.resolve())))
    return None


def discover(
    root: Path,
    *,
    paths: Sequence[str],
    roots: Sequence[Path],
    modules: frozenset[str] = frozenset(),
    list_files: FileLister | None = None,
    importing: ImportListener = lambda _: None,
) -> ImportedWorkloads:
    """Import the files below `paths`; with `modules`, only the files of these modules.

    A file that cannot be imported does not affect the others. `list_files` may know the files of a
    folder already.
    """
    top = root.resolve()
    clash = name_clash(root, roots)
    if clash is not None:
        return ImportedWorkloads((), (clash,))
    broken: list[ImportFailure] = []
    for path in paths:
        start = (top / path).resolve()
        if not start.exists():
            broken.append(_absent(path))
        elif not start.is_relative_to(top):
            broken.append(_outside(path))
        else:
            imported = import_below(
                start,
                root=top,
                roots=roots,
                modules=modules,
                list_files=list_files,
                importing=importing,
            )
            broken += (each for each in imported if isinstance(each, ImportFailure))
    return ImportedWorkloads(tuple(REGISTERED_WORKLOADS.values()), tuple(broken))


def file_modules(
    root: Path,
    *,
    paths: Sequence[str],
    roots: Sequence[Path],
    list_files: FileLister | None = None,
) -> Mapping[str, Path]:
    """Return the files below `paths` by their modules, in order, without importing them."""
    top = root.resolve()
    starts = [(top / path).resolve() for path in paths]
    inside = (start for start in starts if start.exists() and start.is_relative_to(top))
    files = (file for start in inside for file in (list_files or source_files)(start))
    names = ((module_name(file, roots), file) for file in files)
    return {name: file for name, file in names if name is not None}


def registering_file(workload: Workload, modules: Container[str]) -> str:
    """Return which of the files' modules registered a workload, "" if none of them."""
    return next((name for name in workload.registrars if name in modules), "")


def _clash(path: str) -> ImportFailure:
    detail = (
        f"your repository has a package named {OWN_NAME} ({path}), which hides perfledger's own: "
        "rename yours"
    )
    return ImportFailure(path=path, detail=detail, reason=FailureReason.WRONG_CODE)


def _absent(path: str) -> ImportFailure:
    detail = (
        f"there is no {path!r} in the checkout: create it, or set `paths` in perfledger.toml to "
        "the files or folders of the workloads"
    )
    return ImportFailure(path=path, detail=detail, reason=FailureReason.MISSING)


def _outside(path: str) -> ImportFailure:
    detail = (
        f"{path!r} points outside the checkout, where base and head would run the same files: set "
        "`paths` in perfledger.toml to a file or folder inside the repository"
    )
    return ImportFailure(path=path, detail=detail, reason=FailureReason.WRONG_CODE)


def import_below(
    start: Path,
    *,
    root: Path,
    roots: Sequence[Path],
    modules: frozenset[str],
    list_files: FileLister | None = None,
    importing: ImportListener = lambda _: None,
) -> Iterator[ModuleType | ImportFailure]:
    """Import the files at or below `start`, and yield each module or why it cannot be imported.

    From then on a file may import the files beside it by their bare names.
    """
    finder = SiblingFinder(roots)
    sys.meta_path.append(finder)  # it stays, because set-ups may import too
    for file in (list_files or source_files)(start):
        finder.folders[file.parent] = None
        path = str(file.relative_to(root))
        name = module_name(file, roots)
        if name is None:
            root_names = ", ".join(str(each.relative_to(root)) for each in roots) or "none exists"
            detail = (
                f"{path} has no module name below import_paths ({root_names}): add its folder "
                "there; names of folders and files must not contain a dot"
            )
            yield ImportFailure(path=path, detail=detail)
        elif not modules or name in modules:
            importing(path)
            detail = import_file(name, file, root=root)
            if detail:
                yield ImportFailure(path=path, detail=detail, module=name)
            else:
                yield sys.modules[name]


def source_files(top: Path) -> Iterator[Path]:
    """Yield the Python files at or below `top` in a fixed order, without hidden ones."""
    if top.is_file():
        yield top
        return
    for folder, names, files in os.walk(top):
        here = Path(folder)
        names[:] = sorted(
            name
            for name in names
            if not name.startswith(".")
            and name != "__pycache__"
            and not (here / name / "pyvenv.cfg").exists()
        )
        for name in sorted(files):
            if name.endswith(".py") and not name.startswith(".") and name != "__main__.py":
                yield here / name


def module_name(file: Path, roots: Sequence[Path]) -> str | None:
    """Return the module name of `file` below the deepest root that contains it."""
    holders = [folder for folder in roots if file.is_relative_to(folder)]
    if not holders:
        return None
    nearest = max(holders, key=lambda folder: len(folder.parts))
    parts = file.relative_to(nearest).with_suffix("").parts
    if parts[-1] == "__init__":
        parts = parts[:-1]
    if not parts or any("." in part for part in parts):
        return None
    return ".".join(parts)


def import_file(name: str, file: Path, *, root: Path) -> str:
    """Import the module; return why it failed, "" on success."""
    try:
        with chdir(root):  # the previous file may have changed the folder
            module = importlib.import_module(name)
    except BaseException as error:  # a boundary: a module may raise anything, even SystemExit
        for key, registered in tuple(REGISTERED_WORKLOADS.items()):
            is_gone = registered.function.__module__ not in sys.modules
            if is_gone or registered.registrars[:1] == (name,):  # registered before the failure
                del REGISTERED_WORKLOADS[key]
        return detail_of(error, root=root) + _shadow(name, file)
    origin = getattr(module, "__file__", None)  # a module may replace itself with any object
    if origin is None or Path(origin).resolve() != file.resolve():
        return f"module {name!r} was imported from {origin}" + _shadow(name, file)
    return ""


def _shadow(name: str, file: Path) -> str:
    """Return a hint if another package of the file's top-level name was imported before it."""
    package = sys.modules.get(name.partition(".")[0])
    origin = getattr(package, "__file__", None)
    if origin is None or file.resolve().is_relative_to(Path(origin).resolve().parent):
        return ""
    return (
        f"; package {name.partition('.')[0]!r} at {origin} comes first: give yours an __init__.py "
        "or another name"
    )

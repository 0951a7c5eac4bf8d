"""Records which files of the repository's own packages a process has loaded."""

import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path
from typing import cast

from perfledger.package_code import (
    MAX_COMPILED_MODULES,
    MAX_PACKAGES,
    CompiledModule,
    LoadedPackage,
    SourcePackage,
)

MAPPED_FILES = Path("/proc/self/maps")  # Linux: shared objects that are loaded without an import
COMPILED_SUFFIXES = (*EXTENSION_SUFFIXES, ".so")


class PackageRecorder:
    """A recorder of the packages that are the repository's own; each file is read once.

    What lies below `own_folders` is the side's own code: its checkout first, and its environment.
    """

    def __init__(
        self,
        packages: Iterable[SourcePackage],
        *,
        own_folders: Sequence[Path],
        mapped_files: Path = MAPPED_FILES,
    ) -> None:
        self._names = {package.name for package in packages}
        self._own = [Path(os.path.realpath(folder)) for folder in own_folders]
        self._mapped_files = mapped_files
        self._digests: dict[tuple[str, int, int], str] = {}

    def record(self, modules: Mapping[str, object]) -> tuple[LoadedPackage, ...]:
        """Return the packages of which one of `modules` is a part, by name."""
        files: dict[str, dict[str, str]] = {}
        for name, module in tuple(modules.items()):
            package = self._package_of(str(name))  # sys.modules may have any key
            path = None if package is None else _file_of(module)
            if package is not None and path is not None:
                files.setdefault(package, {})[str(name)] = path
        mapped = self._mapped() if files else ()
        return tuple(self._loaded(name, files[name], mapped) for name in sorted(files))[
            :MAX_PACKAGES
        ]

    def _package_of(self, module: str) -> str | None:
        """Return the longest of the packages' names that holds the module."""
        name = module
        while name and name not in self._names:
            name = name.rpartition(".")[0]
        return name or None

    def _loaded(self, name: str, files: Mapping[str, str], mapped: Iterable[str]) -> LoadedPackage:
        foreign = [path for path in files.values() if not self._is_own(path)]
        folder = Path(foreign[0] if foreign else files.get(name, next(iter(files.values())))).parent
        compiled = [path for path in files.values() if path.endswith(COMPILED_SUFFIXES)]
        if name in files and Path(files[name]).stem == "__init__":  # not a single module
            compiled += [path for path in mapped if Path(path).is_relative_to(folder)]
        digest = hashlib.sha256()
        for module, path in sorted(files.items()):
            digest.update(f"{module}\0{self._digest(path)}\n".encode("utf-8", "replace"))
        return LoadedPackage(
            name=name,
            folder=self._relative(folder),
            is_own=not foreign,
            modules=len(files),
            digest=digest.hexdigest(),
            compiled=tuple(self._compiled(sorted(set(compiled))[:MAX_COMPILED_MODULES])),
        )

    def _compiled(self, paths: Iterable[str]) -> Iterator[CompiledModule]:
        for path in paths:
            with suppress(OSError):  # it was deleted after loading
                size = Path(path).stat().st_size
                yield CompiledModule(
                    path=self._relative(Path(path)), size_bytes=size, digest=self._digest(path)
                )

    def _mapped(self) -> tuple[str, ...]:
        """Return the paths of the shared objects in this process's memory."""
        try:
            lines = self._mapped_files.read_text(errors="replace").splitlines()
        except OSError:
            return ()
        paths = dict.fromkeys(line[line.find("/") :] for line in lines if line.endswith(".so"))
        return tuple(paths)

    def _is_own(self, path: str) -> bool:
        real = Path(os.path.realpath(path))
        return any(real.is_relative_to(folder) for folder in self._own)

    def _relative(self, path: Path) -> str:
        """Return a path below the checkout relative to it, as it is the same on both sides."""
        real = Path(os.path.realpath(path))
        checkout = self._own[0]
        return str(real.relative_to(checkout) if real.is_relative_to(checkout) else real)

    def _digest(self, path: str) -> str:
        """Return the SHA-256 of a file's content, "" if it cannot be read."""
        try:
            with open(path, "rb") as file:  # noqa: PTH123 - a module's path may be any text
                facts = os.fstat(file.fileno())
                key = (path, facts.st_mtime_ns, facts.st_size)
                if key not in self._digests:
                    self._digests[key] = hashlib.file_digest(file, "sha256").hexdigest()
                return self._digests[key]
        except (OSError, ValueError):  # a module may have any text as its file
            return ""


def _file_of(module: object) -> str | None:
    """Return a module's file; sys.modules may hold any object, whose own code is not run."""
    try:
        names = cast("Mapping[str, object]", object.__getattribute__(module, "__dict__"))
    except AttributeError:
        return None
    path = names.get("__file__")
    is_path = isinstance(path, str) and os.path.isabs(path) and "\0" not in path  # noqa: PTH117
    return cast("str", path) if is_path else None

"""Records which files of the repository's own packages a process has loaded."""

import errno
import hashlib
import os
import re
import resource
import sys
import tempfile
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path
from typing import cast

from perfledger.failure_reason import UnmeasurableError
from perfledger.package_code import (
    MAX_COMPILED_MODULES,
    MAX_PACKAGES,
    CompiledModule,
    LoadedPackage,
    SourcePackage,
)
from perfledger.process.module_origin import INSTALL_FOLDERS, module_file
from perfledger.records import FailureReason

MAPPED_FILES = Path("/proc/self/maps")  # Linux: shared objects that are loaded without an import
COMPILED_SUFFIXES = (*EXTENSION_SUFFIXES, ".so")
SHARED_OBJECT = re.compile(r"/.*\.so(\.\d+)*$")
TORCH_EXTENSIONS = "torch.utils.cpp_extension"
# Folders of a cache whose files are not the repository's: uv's packages, what compilers of torch
# and Triton keep by the content of its source, and the harness's own. Libraries of downloaded
# kernels are not either.
FOREIGN_CACHES = re.compile(r"archive-v\d+|\.?triton|torchinductor_.*|perfledger(-.*)?")
DOWNLOADS = "huggingface"
MAX_CACHED_BYTES = 2**26  # a library that a package compiles for itself is smaller
MAX_CACHED_LIBRARIES = 50


class PackageRecorder:
    """A recorder of the packages that are the repository's own; each file is read once.

    What lies below `own_folders` is the side's own code: first its checkout, then its environment.
    Shared libraries are recorded too: those of the side, those of the user's checkout `repository`,
    what torch compiled in this process, and those in `caches`, where packages keep what they
    compile when they are first used; never an installed one.
    """

    def __init__(
        self,
        packages: Iterable[SourcePackage],
        *,
        own_folders: Sequence[Path],
        repository: Path,
        caches: Sequence[Path] | None = None,
        prefixes: Sequence[str] = (sys.prefix, sys.base_prefix),
        mapped_files: Path = MAPPED_FILES,
    ) -> None:
        self._names = {package.name for package in packages}
        self._caches = cache_folders(os.environ) if caches is None else caches
        self.own_folders = [Path(os.path.realpath(folder)) for folder in own_folders]
        self._watched = [*self.own_folders, Path(os.path.realpath(repository))]
        real = [Path(os.path.realpath(prefix)) for prefix in prefixes]
        self._installed = [prefix for prefix in real if prefix not in self._watched]
        self._mapped_files = mapped_files
        self._digests: dict[tuple[str, int, int], str] = {}

    def record(self, modules: Mapping[str, object]) -> tuple[LoadedPackage, ...]:
        """Return the packages that contain any of `modules`, then other libraries.

        Raises UnmeasurableError if this process can open no more files.
        """
        check_open_files()
        files: dict[str, dict[str, str]] = {}
        for name, module in tuple(modules.items()):
            package = self._package_of(str(name))  # sys.modules may have any key
            path = None if package is None else module_file(module)
            if package is not None and path is not None:
                files.setdefault(package, {})[str(name)] = path
        mapped = self._mapped_libraries()
        packages = [self._loaded_package(name, files[name], mapped) for name in sorted(files)]
        package_paths = {each.path for package in packages for each in package.compiled}
        libraries = [path for path in mapped if self._relative(Path(path)) not in package_paths]
        packages += self._libraries(libraries, _torch_extensions(modules))
        packages += self._cached_modules(modules, packages)
        return tuple(packages)[:MAX_PACKAGES]

    def _cached_modules(
        self, modules: Mapping[str, object], packages: Iterable[LoadedPackage]
    ) -> Iterator[LoadedPackage]:
        """Yield the files of Python code that a package has copied into a cache, by their names."""
        names = {package.name for package in packages}
        foreign = [*self._installed, *self.own_folders]
        installed = tuple(f"{prefix}{os.sep}" for prefix in self._installed)
        for module in tuple(modules.values()):
            path = module_file(module)
            if path is None or not path.endswith(".py") or Path(path).name in names:
                continue
            if path.startswith(installed):  # most are: to resolve links takes far longer
                continue
            if is_in_cache(path, self._caches, foreign) and (digest := self._digest(path)):
                name, folder = Path(path).name, str(Path(path).parent)
                names.add(name)
                yield LoadedPackage(
                    name=name, folder=folder, is_own=False, modules=1, digest=digest
                )

    def _package_of(self, module: str) -> str | None:
        """Return the longest of the packages' names that contains the module."""
        name = module
        while name and name not in self._names:
            name = name.rpartition(".")[0]
        return name or None

    def _loaded_package(
        self, name: str, files: Mapping[str, str], mapped: Iterable[str]
    ) -> LoadedPackage:
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
            compiled=tuple(self._compiled_modules(sorted(set(compiled))[:MAX_COMPILED_MODULES])),
        )

    def _libraries(
        self, paths: Sequence[str], compiled_here: Collection[str]
    ) -> Iterator[LoadedPackage]:
        cached = [path for path in paths if self._is_cached(path)][:MAX_CACHED_LIBRARIES]
        for path in paths:
            name = Path(path).name.partition(".")[0]
            if not (name in compiled_here or self._is_watched(path) or path in cached):
                continue
            modules = tuple(self._compiled_modules([path]))
            if modules:
                yield LoadedPackage(
                    name=name,
                    folder=self._relative(Path(path).parent),
                    is_own=self._is_own(path),
                    modules=1,
                    digest=modules[0].digest,
                    compiled=modules,
                )

    def _is_watched(self, path: str) -> bool:
        """Return whether a library lies in a checkout, or is the side's own, and not installed."""
        real = Path(os.path.realpath(path))
        return (
            any(real.is_relative_to(folder) for folder in self._watched)
            and not any(real.is_relative_to(prefix) for prefix in self._installed)
            and not any(part in INSTALL_FOLDERS for part in real.parts)
        )

    def _is_cached(self, path: str) -> bool:
        is_downloaded = DOWNLOADS in Path(path).parts
        return not is_downloaded and is_in_cache(path, self._caches, self._installed)

    def _compiled_modules(self, paths: Iterable[str]) -> Iterator[CompiledModule]:
        for path in paths:
            with suppress(OSError):  # it was deleted after loading
                size = Path(path).stat().st_size
                yield CompiledModule(
                    path=self._relative(Path(path)), size_bytes=size, digest=self._digest(path)
                )

    def _mapped_libraries(self) -> tuple[str, ...]:
        """Return the paths of the shared objects in this process's memory."""
        try:
            lines = self._mapped_files.read_text(errors="replace").splitlines()
        except OSError:
            return ()
        matches = (SHARED_OBJECT.search(line) for line in lines)
        return tuple(dict.fromkeys(path[0] for path in matches if path))

    def _is_own(self, path: str) -> bool:
        real = Path(os.path.realpath(path))
        return any(real.is_relative_to(folder) for folder in self.own_folders)

    def _relative(self, path: Path) -> str:
        """Return a path below the checkout relative to it, so that it is the same on both sides."""
        real = Path(os.path.realpath(path))
        checkout = self.own_folders[0]
        return str(real.relative_to(checkout) if real.is_relative_to(checkout) else real)

    def _digest(self, path: str) -> str:
        """Return the SHA-256 of a file's content, "" if it cannot be read."""
        try:
            with open(path, "rb", opener=open_unnoticed) as file:
                facts = os.fstat(file.fileno())
                key = (path, facts.st_mtime_ns, facts.st_size)
                if key not in self._digests:
                    self._digests[key] = hashlib.file_digest(file, "sha256").hexdigest()
                return self._digests[key]
        except (OSError, ValueError):  # a module may have any text as its file
            return ""


def check_open_files() -> None:
    """Raise UnmeasurableError if this process can open no more files: what it ran is unknown."""
    try:
        os.close(os.open(os.devnull, os.O_RDONLY))
    except OSError as error:
        if error.errno not in {errno.EMFILE, errno.ENFILE}:
            return
        limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        detail = (
            f"{error.strerror}: after its last step the process cannot open another (its limit is "
            f"{limit}), so that it is unknown which code ran; close them, or leave the limit as it "
            "is"
        )
        raise UnmeasurableError(FailureReason.RAISED, detail) from error


def cache_folders(environment: Mapping[str, str]) -> tuple[Path, ...]:
    """Return the folders that both sides share and in which packages keep what they compile.

    In a container the user may have no home, and no folder may be writable.
    """
    home = environment.get("HOME") or os.path.expanduser("~")  # noqa: PTH111 - raises nothing
    folders = [environment.get("XDG_CACHE_HOME") or f"{home}/.cache"]
    with suppress(OSError):
        folders.append(tempfile.gettempdir())
    return tuple(Path(os.path.realpath(each)) for each in folders if Path(each).is_absolute())


def is_in_cache(
    path: str,
    caches: Iterable[Path],
    installed: Iterable[Path],
    *,
    is_any_size: bool = False,
) -> bool:
    """Return whether a file lies in a cache, and is not installed, nor larger than a library."""
    real = Path(os.path.realpath(path))
    if not any(real.is_relative_to(folder) for folder in caches):
        return False
    if any(real.is_relative_to(prefix) for prefix in installed):
        return False
    if any(part in INSTALL_FOLDERS or FOREIGN_CACHES.fullmatch(part) for part in real.parts):
        return False
    with suppress(OSError):
        return is_any_size or real.stat().st_size <= MAX_CACHED_BYTES
    return False


def open_unnoticed(path: str, flags: int) -> int:
    """Open a file without changing its access time, which shows the agent what code reads.

    Only the file's owner can do this.
    """
    is_own = os.stat(path).st_uid == os.geteuid()  # noqa: PTH116 - a module's path may be any text
    no_access_time: int = getattr(os, "O_NOATIME", 0)
    return os.open(path, flags | no_access_time if is_own else flags)


def _torch_extensions(modules: Mapping[str, object]) -> frozenset[str]:
    """Return the names of the extensions that torch compiled from sources in this process."""
    versions = getattr(modules.get(TORCH_EXTENSIONS), "JIT_EXTENSION_VERSIONER", None)
    entries = getattr(versions, "entries", None)
    if not isinstance(entries, dict):
        return frozenset()
    names: set[str] = set()
    for name, entry in cast("Mapping[object, object]", entries).items():
        # A second version in one process has its number after the name.
        names |= {str(name), f"{name}_v{getattr(entry, 'version', 0)}"}
    return frozenset(names)

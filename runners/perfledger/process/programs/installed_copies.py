"""Finds the installed copies of the repository's own packages, and which of them are opened."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from perfledger.package_code import SourcePackage
from perfledger.process.module_origin import INSTALL_FOLDERS
from perfledger.process.programs.file_opens import FileOpens

CODE = (".py", ".pyc", ".so")
CACHED = "__pycache__"


@dataclass(slots=True, kw_only=True)
class InstalledCopies:
    """The copies of packages that a program imports if it does not find the side's.

    `environment` is the side's own, "" without one: the copies in it are the side's. An editable
    installation leads to `repository`, the user's checkout.
    """

    packages: Sequence[SourcePackage]
    repository: Path
    environment: str
    search_path: Sequence[str]
    _opens: FileOpens = field(default_factory=FileOpens)
    _copies: dict[Path, tuple[str, Path]] = field(default_factory=dict[Path, tuple[str, Path]])
    _editable: dict[Path, bool] = field(default_factory=dict[Path, bool])

    def copy_of(self, name: str) -> Path | None:
        """Return the folder that a program imports a package from; None if it is the side's.

        The name of a package in a namespace has a dot: other packages there are not copies of it.
        """
        sites = [
            Path(each)
            for each in self.search_path
            if any(part in INSTALL_FOLDERS for part in Path(each).parts)
        ]
        for site in sites:
            if has_package(site, name):
                is_own = self.environment and site.is_relative_to(self.environment)
                return None if is_own else site / _path_of(name)
        return self.repository if any(map(self._is_editable, sites)) else None

    def watch(self) -> None:
        """Notice from now on which copies any process of the machine opens."""
        for package in self.packages:
            copy = self.copy_of(package.name)
            if copy is not None:
                is_users = copy == self.repository
                place = copy / package.root / _path_of(package.name) if is_users else copy
                self._copies |= dict.fromkeys(_code_places(place), (package.name, copy))
        self._opens.watch(self._copies)

    @property
    def has_unwatched(self) -> bool:
        """Return whether there are copies that may have been opened unnoticed."""
        return bool(self._copies) and not self._opens.is_complete

    def opened(self) -> dict[str, Path]:
        """Return the folders of the copies whose code was opened, by name, and end the watch."""
        files = [path for path in self._opens.opened() if path.suffix in CODE]
        places = [each for path in files for each in (path, path.parent) if each in self._copies]
        return dict(self._copies[place] for place in places)

    def _is_editable(self, site: Path) -> bool:
        """Return whether a folder of packages leads to the user's checkout."""
        if site not in self._editable:
            self._editable[site] = False
            place = str(self.repository).encode()
            with suppress(OSError):
                links = (*site.glob("*.pth"), *site.glob("__editable__*.py"))
                self._editable[site] = any(place in link.read_bytes() for link in links)
        return self._editable[site]


def has_package(folder: Path, name: str) -> bool:
    """Return whether Python finds a package or module in a folder, perhaps in a namespace."""
    path = folder / _path_of(name)
    return path.is_dir() or path.with_name(f"{path.name}.py").is_file()


def _path_of(name: str) -> str:
    return name.replace(".", "/")


def _code_places(package: Path) -> Iterator[Path]:
    """Yield the folders and files that Python opens to import a package or module."""
    if package.is_dir():
        yield from (package, package / CACHED)
    else:
        yield package.with_name(f"{package.name}.py")
        yield from (package.parent / CACHED).glob(f"{package.name}.*.pyc")

"""Holds where the code of a repository's own packages came from."""

from dataclasses import dataclass

# Of one process; a repository with more is recorded in part.
MAX_PACKAGES = 200
MAX_COMPILED_MODULES = 200  # of one package


@dataclass(frozen=True, slots=True)
class SourcePackage:
    """A package that a revision holds, by its full name, and the folder that it is imported from.

    `root` is below the checkout ("." is the checkout itself). It is "" if it is not put on the
    import path: for an extension module, or a package in a folder that is declared nowhere.
    """

    name: str
    root: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CompiledModule:
    """A shared object of a package that a process has loaded."""

    path: str
    size_bytes: int
    digest: str  # SHA-256 of its content, in hex


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedPackage:
    """A package of the repository, or a shared library, as one process has loaded it.

    A file in a cache that it has loaded, or that its last step has read, has a `name` with its
    suffix. A module's `digest` is that of its content; what was read has none.

    `is_own` says that all of it came from the side's checkout or from the environment that was
    built for the side. `folder` is below the checkout if `is_own` and it lies there.
    """

    name: str
    folder: str
    is_own: bool
    modules: int
    digest: str  # SHA-256 of the names and contents of its modules' files, in hex
    compiled: tuple[CompiledModule, ...] = ()

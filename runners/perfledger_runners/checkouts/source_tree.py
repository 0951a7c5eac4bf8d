"""Reads a revision's own packages and files from git, and compares two revisions."""

import hashlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath

from perfledger.package_code import SourcePackage
from perfledger_runners.checkouts.dependency_files import (
    NOTHING_DECLARED,
    DeclaredDependencies,
    ProjectBuild,
    declared_archives,
    declared_dependencies,
    is_dependency_file,
    is_uncompiled,
    project_build,
)
from perfledger_runners.checkouts.git import GitFailedError, RepositoryError, git
from perfledger_runners.checkouts.included_requirements import included_files
from perfledger_runners.checkouts.package_layout import (
    ASIDE,
    VENDORED,
    ReadFile,
    extension_names,
    import_folders,
    is_within,
    join,
    project_folders,
    renamed_packages,
)
from perfledger_runners.checkouts.repository import Repository
from perfledger_runners.checkouts.submodules import submodule_files
from perfledger_runners.checkouts.untracked_files import ENVIRONMENT_MARKS

# In lower case.
COMPILED_SUFFIXES = frozenset(
    (
        *(".c", ".cc", ".cpp", ".cxx", ".c++", ".h", ".hh", ".hpp", ".hxx", ".inl", ".ipp", ".tpp"),
        *(".cu", ".cuh", ".ptx", ".hip", ".cl", ".metal", ".mm", ".s", ".asm"),
        *(".f", ".for", ".f77", ".f90", ".f95", ".f03", ".f08", ".pyf"),
        *(".pyx", ".pxd", ".pxi", ".rs", ".go", ".zig", ".cmake"),
    )
)
# A generator makes the source from it: `kernel.c.in`, `loops.c.src`.
TEMPLATE_SUFFIXES = frozenset({".in", ".src", ".tp"})
COMPILED_FILES = frozenset(
    {"CMakeLists.txt", "Cargo.toml", "Cargo.lock", "meson.build", "meson.options"}
    | {"meson_options.txt"}
)
EXTENSION_MACROS = (
    r"(PYBIND11_MODULE|NB_MODULE|BOOST_PYTHON_MODULE)[[:space:]]*\([[:space:]]*\w+|PyInit_\w+"
)
MAX_PROJECT_FILE_BYTES = 2**20  # of a pyproject.toml, setup.cfg or requirements file
MAX_LOCK_BYTES = 2**24  # a lock file with a thousand packages has some megabytes
SDK = "perfledger"
# A child is sent no more than this many.
MAX_TRACKED = 2000
MAX_NAMED = 3  # names listed in a sentence


@dataclass(frozen=True, slots=True, kw_only=True)
class PackageFolder:
    """A package of a revision: its full name, its folder, and that of its project.

    `root` is the folder from which it is imported; "" if none is declared, so that the name is a
    guess. A single module's folder is its file. A package that is installed under another name than
    its folder's has that name, and the folder of its project as `root`: only a copy has its code.
    """

    name: str
    root: str
    folder: str
    project: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceTree:
    """The files of a revision with their hashes, its packages, and names of extension modules.

    `dependencies` is what files declare to be installed; `projects` is how each folder is
    installed. Submodules' files are included; those that the clone lacks are `missing_submodules`.
    Files of an environment that was committed are not: `environments` has a hash of each, by
    folder.
    """

    hashes: dict[str, str]
    packages: tuple[PackageFolder, ...]
    extensions: frozenset[str]
    dependencies: dict[str, DeclaredDependencies] = field(
        default_factory=dict[str, DeclaredDependencies]
    )
    projects: dict[str, ProjectBuild] = field(default_factory=dict[str, ProjectBuild])
    missing_submodules: frozenset[str] = frozenset()
    environments: dict[str, str] = field(default_factory=dict[str, str])

    @property
    def digest(self) -> str:
        """Return a hash of all files, the same for the same files in another commit."""
        return _digest(self.hashes)

    def tracked(self) -> tuple[SourcePackage, ...]:
        """Return what a child imports from the checkout and records."""
        unique: dict[str, SourcePackage] = {}
        for each in self.packages:
            if each.name.partition(".")[0] == SDK:  # a child has the agent's copy
                continue
            unique.setdefault(each.name, SourcePackage(each.name, each.root))
        for name in sorted(self.extensions):
            unique.setdefault(name, SourcePackage(name))
        return tuple(unique.values())[:MAX_TRACKED]

    def project_of(self, path: str) -> str:
        """Return the folder of the innermost project that holds the file, "." without one."""
        homes = (folder for folder in self.projects if is_below(path, folder))
        return max(homes, key=_depth, default=".")


def read_source_tree(
    repository: Repository, sha: str, *, import_paths: Sequence[str]
) -> SourceTree:
    """Return the files and packages of a commit. Raises RepositoryError."""
    files = _hashes(repository, sha)
    environments = _environments(files)
    hashes = {
        path: digest
        for path, digest in files.items()
        if not any(is_below(path, folder) for folder in environments)
    }

    def read(path: str) -> bytes | None:
        content = git(repository.root, "cat-file", "blob", hashes[path])
        limit = MAX_LOCK_BYTES if is_dependency_file(path) else MAX_PROJECT_FILE_BYTES
        return content if len(content) <= limit else None

    projects = project_folders(hashes.keys())
    folders = import_folders(hashes.keys(), projects, read)
    folders |= {join(path, ".") for path in import_paths}
    builds = {
        folder: project_build(
            *(
                read(path) if (path := join(folder, name)) in hashes else None
                for name in ("pyproject.toml", "setup.py")
            )
        )
        for folder in projects
    }
    extensions: set[str] = set()
    if any(map(is_compiled_source, hashes)):
        extensions = {
            name
            for project in projects
            if (path := join(project, "setup.py")) in hashes
            for name in extension_names(read(path) or b"")
        } | _macro_names(repository, sha)
        extensions |= _cython_names(hashes)
    renamed = (
        PackageFolder(name=name, root=project, folder=folder, project=project)
        for folder, (name, project) in renamed_packages(hashes.keys(), projects, read).items()
    )
    submodules = submodule_files(repository.root, sha)
    return SourceTree(
        hashes=hashes | submodules.hashes,
        packages=(
            *_packages(hashes, folders, projects),
            *renamed,
            *_submodule_packages(submodules.hashes),
        ),
        extensions=frozenset(name for name in extensions if name.isidentifier()),
        dependencies=_dependencies(hashes, read),
        projects=builds,
        missing_submodules=submodules.missing,
        environments=environments,
    )


def refuse_new_environment(base: SourceTree, head: SourceTree) -> None:
    """Raise RepositoryError if head commits an environment that base does not have as it is.

    Its thousands of files are not the project's, and both sides would run the user's environment.
    """
    for folder, digest in head.environments.items():
        if base.environments.get(folder) != digest:
            msg = (
                f"head commits {folder}, an environment with installed packages: take it out with "
                f"`git rm -r --cached {folder}`, and add `/{folder}/` to .gitignore"
            )
            raise RepositoryError(msg)


def _dependencies(hashes: Mapping[str, str], read: ReadFile) -> dict[str, DeclaredDependencies]:
    """Return what files declare to be installed, and the archives that may be."""
    texts = {
        path: read(path)
        for path in hashes
        if is_dependency_file(path) or is_uncompiled(path, hashes)
    }
    readable = {path: text for path, text in texts.items() if text}
    texts |= included_files(readable, hashes, lambda path: read(path) or b"")
    declared = {
        path: declared_dependencies(path, text or hashes[path].encode())
        for path, text in texts.items()
    }
    return declared | declared_archives(
        hashes, {path: text for path, text in texts.items() if text}
    )


def changed_paths(base: SourceTree, head: SourceTree) -> tuple[str, ...]:
    """Return the files that one side lacks or that differ."""
    paths = base.hashes.keys() | head.hashes.keys()
    return tuple(sorted(path for path in paths if base.hashes.get(path) != head.hashes.get(path)))


def is_compiled_source(path: str) -> bool:
    """Return whether the file is compiled, or says how, and belongs to what is measured."""
    pure = PurePosixPath(path)
    source = PurePosixPath(pure.stem) if pure.suffix in TEMPLATE_SUFFIXES else pure
    is_source = source.suffix.lower() in COMPILED_SUFFIXES or pure.name in COMPILED_FILES
    return is_source and not is_within(path, ASIDE)


def changed_dependencies(base: SourceTree, head: SourceTree) -> tuple[str, ...]:
    """Return the files whose changes may affect what is installed."""
    paths = base.dependencies.keys() | head.dependencies.keys()
    return tuple(
        sorted(
            path
            for path in paths
            if base.dependencies.get(path, NOTHING_DECLARED)
            != head.dependencies.get(path, NOTHING_DECLARED)
        )
    )


def is_mentioned(checkout: Path, word: str) -> bool:
    """Return whether a text file of a checkout has this word."""
    try:
        git(checkout, "grep", "--quiet", "-I", "-w", "-F", "-e", word)
    except RepositoryError:
        return False
    return True


def is_below(path: str, folder: str) -> bool:
    """Return whether a path is the folder or lies below it; every path lies below "."."""
    return folder in {".", path} or path.startswith(f"{folder}/")


def first_few(names: Sequence[str]) -> str:
    """Return the first few names as words of a sentence, and how many more there are."""
    more = f" and {len(names) - MAX_NAMED} more" if len(names) > MAX_NAMED else ""
    return ", ".join(names[:MAX_NAMED]) + more


def _environments(hashes: Mapping[str, str]) -> dict[str, str]:
    """Return a commit's folders that are environments of venv or conda, with a hash of each.

    Those of tests are data.
    """
    folders = {
        path.removesuffix(mark)
        for mark in ENVIRONMENT_MARKS
        for path in hashes
        if path.endswith(mark) and not is_within(path, ASIDE)
    }
    return {
        folder: _digest({path: hashes[path] for path in hashes if is_below(path, folder)})
        for folder in sorted(folders)
    }


def _digest(hashes: Mapping[str, str]) -> str:
    text = "".join(f"{path}\0{digest}\n" for path, digest in sorted(hashes.items()))
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()


def _hashes(repository: Repository, sha: str) -> dict[str, str]:
    listing = git(repository.root, "ls-tree", "-r", "-z", "--full-tree", sha)
    hashes: dict[str, str] = {}
    for entry in listing.decode(errors="surrogateescape").split("\0"):
        facts, _, path = entry.partition("\t")
        if path:
            hashes[path] = facts.split()[2]
    return hashes


def _packages(
    paths: Iterable[str], roots: Iterable[str], projects: Iterable[str]
) -> Iterator[PackageFolder]:
    """Yield the packages by their names below the deepest root, then those by their last names."""
    deepest = sorted(roots, key=len, reverse=True)
    homes = sorted(projects, key=len, reverse=True)
    guesses: list[PackageFolder] = []
    for folder in _top_folders(paths):
        if is_within(folder, VENDORED):
            continue
        root = next((each for each in deepest if each != folder and is_below(folder, each)), "")
        project = next(each for each in homes if is_below(folder, each))
        parts = PurePosixPath(folder.removesuffix(".py")).relative_to(root or ".").parts
        is_module = folder.endswith(".py")
        # A module in a folder without __init__.py is part of a namespace package if its root is a
        # folder of packages; at the top it may be any script.
        is_script = is_module and len(parts) > 1 and root in {"", "."}
        if is_script or not all(part.isidentifier() for part in parts):
            continue
        package = PackageFolder(name=".".join(parts), root=root, folder=folder, project=project)
        if root:
            yield package
        if len(parts) > 1 and not is_module:
            guesses.append(replace(package, name=parts[-1], root=""))
    yield from guesses


def _submodule_packages(paths: Iterable[str]) -> Iterator[PackageFolder]:
    """Yield the packages of submodules, none of which is certain to be imported from its folder."""
    for folder in _top_folders(paths):
        name = PurePosixPath(folder).name
        if name.isidentifier() and not is_within(folder, ASIDE):
            yield PackageFolder(name=name, root="", folder=folder, project=folder)


def _top_folders(paths: Iterable[str]) -> Iterator[str]:
    """Yield the packages' folders whose parents are not packages, and the files beside them."""
    files = {PurePosixPath(path) for path in paths if path.endswith(".py")}
    packages = {path.parent for path in files if path.name == "__init__.py"}
    for folder in sorted(packages):
        if folder.parent not in packages and folder.name:
            yield str(folder)
    yield from sorted(str(path) for path in files if path.parent not in packages)


def _macro_names(repository: Repository, sha: str) -> set[str]:
    """Return the names of extension modules in C and C++ sources."""
    try:
        lines = git(repository.root, "grep", "-I", "-h", "-o", "-E", "-e", EXTENSION_MACROS, sha)
    except GitFailedError:  # not found
        return set()
    texts = (line.rpartition("(")[2].strip() for line in lines.decode(errors="replace").split("\n"))
    return {text.removeprefix("PyInit_") for text in texts if text}


def _cython_names(paths: Collection[str]) -> set[str]:
    """Return the names of Cython modules that are not part of a package."""
    files = (PurePosixPath(path) for path in paths if path.endswith(".pyx"))
    return {file.stem for file in files if str(file.parent / "__init__.py") not in paths}


def _depth(folder: str) -> int:
    return len(PurePosixPath(folder).parts)

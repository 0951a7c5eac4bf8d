"""Reads what a repository's files say about installed packages."""

import ast
import configparser
import re
import tomllib
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from perfledger_runners.checkouts.package_layout import (
    ASIDE,
    PROJECT_FILES,
    VENDORED,
    calls,
    is_within,
    strings,
    table,
    texts,
)

LOCK_FILE = re.compile(
    r"(uv|poetry|pdm|pixi|Pipfile)\.lock|pylock(\.[\w-]+)?\.toml|Pipfile"
    r"|([\w.-]*[_.-])?conda-lock[\w.-]*\.ya?ml|conda-[\w-]+\.lock"
    r"|([\w.-]*[_.-])?constraints[\w.-]*\.txt"
)
# conda's environments, for which it asks no name: those of GPUs, of tests, of each Python. Services
# call other files so, but these have no list of dependencies at the top.
CONDA_FILE = re.compile(r"(conda[_.-]?)?env(ironment)?([_.-][\w.-]*)?\.ya?ml")
USUAL_CONDA_FILES = frozenset({"environment.yml", "environment.yaml"})
CONDA_DEPENDENCIES = re.compile(r"^[\"']?dependencies[\"']?\s*:", re.MULTILINE)
# Rye writes a lock file that pip reads.
REQUIREMENTS_FILE = re.compile(r"([\w.-]*[_.-])?requirements[\w.-]*\.(txt|lock)")
# pip-tools' source of such a file, which pip reads, too.
SOURCE_SUFFIX, COMPILED_SUFFIX = ".in", ".txt"
# Packages that a repository may hold, and a dependency file name: pip installs the file itself.
WHEEL = ".whl"
ARCHIVES = (WHEEL, ".tar.gz", ".zip")
# Before the path of a requirement; in a project file, which may name data files as well, after it.
BEFORE_PATH = r"""(^|[\s"'=@:,\[(])"""
BEFORE_REQUIREMENT = r"""(@|file:|(path|url)["']?\s*[=:])\s*["']?"""
FOLDER, AFTER_NAME = r"""(?P<folder>[^\s"',=@:]*/)?""", r"(?![\w.-])"
# Of a lock file of uv, Poetry or PDM: what follows is one package.
LOCKED_PACKAGE = "[[package]]"
LOCKED_FACT = re.compile(
    r"^(name|version|source|type|url|git|path|ref|revision|reference|resolved_reference"
    r"|subdirectory) = (.+)",
    re.MULTILINE,
)
COMMENT = re.compile(r"(^|\s)#.*")
# Binder's environment is that of notebooks in a browser.
BINDER = frozenset({"binder", ".binder"})
# In a requirements file: these also decide how a single requirement is resolved.
INDEX_OPTION = re.compile(
    r"(-f|-i|--find-links|--index-url|--extra-index-url|--trusted-host|--no-index|--pre"
    r"|--no-binary|--only-binary|--prefer-binary)\b"
)
# Arguments of setup() that do not affect what is installed or compiled.
METADATA_ARGUMENTS = frozenset(
    (
        *("version", "description", "long_description", "long_description_content_type", "url"),
        *("author", "author_email", "maintainer", "maintainer_email", "license", "license_files"),
        *("classifiers", "keywords", "project_urls", "download_url", "platforms"),
    )
)
# Keys of tables of pyproject.toml that decide what a tool installs, and from where.
TOOL_KEYS = {
    "uv": ("sources", "index", "override-dependencies", "constraint-dependencies"),
    "poetry": ("dependencies", "group", "dev-dependencies", "extras", "source"),
    "pixi": ("dependencies", "pypi-dependencies", "feature", "target", "system-requirements"),
}
PIXI_FILE = "pixi.toml"  # has these keys of pixi at its top
COMPILING_BACKENDS = ("maturin", "scikit_build_core", "mesonpy", "py_build_cmake")
COMPILING_ARGUMENTS = frozenset({"ext_modules", "rust_extensions", "cffi_modules", "cmake_args"})
# Tables of pyproject.toml that configure how a package is compiled.
COMPILER_TABLES = ("setuptools", "scikit-build", "maturin", "meson-python", "py-build-cmake")


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredDependencies:
    """What one file declares: requirements, pip's options for them, and the rest as text.

    Of an archive it is the content, which is the same wherever it is named; `archive` is the
    requirement that installs it, "" if no file names it.
    """

    requirements: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    rest: str = ""
    archive: str = field(default="", compare=False)


NOTHING_DECLARED = DeclaredDependencies()


@dataclass(frozen=True, slots=True)
class LockedPackage:
    """The versions of a package in a lock file, and their sources if the file gives them."""

    versions: frozenset[str] = frozenset()
    sources: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectBuild:
    """How a folder with project files is installed.

    `needs_installed` means that its setup.py imports packages that must be installed first, such as
    torch.
    """

    is_installable: bool = False
    is_compiled: bool = False
    needs_installed: bool = False


def is_dependency_file(path: str) -> bool:
    """Return whether the file may determine which packages are installed."""
    name = PurePosixPath(path).name
    is_known = name in {*PROJECT_FILES, PIXI_FILE} or is_lock(path) or _is_requirements(path)
    return is_known and not is_within(path, ASIDE | VENDORED | BINDER)


def is_uncompiled(path: str, paths: Collection[str]) -> bool:
    """Return whether the file is a list of requirements of which `paths` have no compiled one."""
    compiled = path.removesuffix(SOURCE_SUFFIX) + COMPILED_SUFFIX
    return path.endswith(SOURCE_SUFFIX) and compiled not in paths and is_dependency_file(compiled)


def is_lock(path: str) -> bool:
    """Return whether the file pins packages for a tool, so that only that tool can install them."""
    name = PurePosixPath(path).name
    return bool(LOCK_FILE.fullmatch(name) or CONDA_FILE.fullmatch(name))


def declared_dependencies(path: str, content: bytes) -> DeclaredDependencies:
    """Return what the file declares, equal for texts that install the same."""
    text = content.decode(errors="replace")
    match name := PurePosixPath(path).name:
        case "pyproject.toml":
            return _of_pyproject(text)
        case "setup.py":
            return _of_setup_py(content)
        case "setup.cfg":
            return _of_setup_cfg(text)
        case _ if name == PIXI_FILE or CONDA_FILE.fullmatch(name):
            return _of_environment(name, text)
        case _ if is_lock(path):
            return DeclaredDependencies(rest=text)
        case _:
            return _of_requirements(text)


def declared_archives(
    hashes: Mapping[str, str], texts: Mapping[str, bytes]
) -> dict[str, DeclaredDependencies]:
    """Return the archives of a repository that may be installed, each with its content's hash.

    `texts` has the dependency files by path. No usual command installs a wheel that none of them
    names, which a command may find by its folder.
    """
    archives = [path for path in hashes if path.endswith(ARCHIVES) and not is_within(path, ASIDE)]
    lines = {
        path: "\n".join(
            COMMENT.sub("", line) for line in text.decode(errors="replace").splitlines()
        )
        for path, text in (texts.items() if archives else ())
    }
    declared: dict[str, DeclaredDependencies] = {}
    for archive in archives:
        naming = [path for path, text in lines.items() if _requires_archive(path, text, archive)]
        if naming or archive.endswith(WHEEL):
            marker = _marker_of(archive, [(path, texts[path]) for path in naming])
            requirement = f"./{archive}{marker}" if naming else ""
            declared[archive] = DeclaredDependencies(rest=hashes[archive], archive=requirement)
    return declared


def _marker_of(archive: str, files: Iterable[tuple[str, bytes]]) -> str:
    """Return where requirements install an archive, such as on one platform only."""
    name = PurePosixPath(archive).name
    lines = (line for file in files for line in declared_dependencies(*file).requirements)
    parts = (line.partition(" --")[0].partition(";") for line in lines)
    markers = {marker.strip() for source, _, marker in parts if name in source}
    if not all(markers):
        return ""
    return "; " * bool(markers) + " or ".join(f"({marker})" for marker in sorted(markers))


def _requires_archive(path: str, text: str, archive: str) -> bool:
    name = PurePosixPath(archive).name
    if name not in text:
        return False
    may_be_data = PurePosixPath(path).name in PROJECT_FILES and not archive.endswith(WHEEL)
    before = BEFORE_REQUIREMENT if may_be_data else BEFORE_PATH
    named = re.finditer(before + FOLDER + re.escape(name) + AFTER_NAME, text, re.MULTILINE)
    folders = {PurePosixPath(each["folder"] or "").name for each in named}
    return not folders.isdisjoint({"", ".", "..", PurePosixPath(archive).parent.name})


def locked_packages(text: str) -> dict[str, LockedPackage]:
    """Return the packages of a lock file of uv, Poetry or PDM, by their normalized names."""
    packages: dict[str, LockedPackage] = {}
    for part in text.split(LOCKED_PACKAGE)[1:]:
        facts: list[tuple[str, str]] = LOCKED_FACT.findall(part)
        values = dict(reversed(facts))  # only the first of each: later tables may have such keys
        name = re.sub(r"[-_.]+", "-", values.pop("name", "")).strip('"').lower()
        version = values.pop("version", "").strip('"')
        before = packages.get(name, LockedPackage())
        packages[name] = LockedPackage(
            before.versions | frozenset(filter(None, (version,))),
            before.sources | {f"{key} = {value}" for key, value in values.items()},
        )
    return packages


def project_build(pyproject: bytes | None, setup_file: bytes | None) -> ProjectBuild:
    """Return how the project of these files is installed; None stands for a missing file."""
    document = _document((pyproject or b"").decode(errors="replace"))
    poetry = table(document, "tool", "poetry")
    backend = table(document, "build-system").get("build-backend")
    names = {
        name
        for call in calls(setup_file or b"")
        for name in (_function(call), *(each.arg or "" for each in call.keywords))
    }
    is_compiling = any(name.endswith("Extension") or name == "cythonize" for name in names)
    return ProjectBuild(
        is_installable=poetry.get("package-mode") is not False
        and (
            setup_file is not None
            or any(table(document, *keys) for keys in (("project",), ("build-system",)))
            or bool(poetry)
        ),
        is_compiled=is_compiling
        or bool(names & COMPILING_ARGUMENTS)
        or (isinstance(backend, str) and backend.startswith(COMPILING_BACKENDS))
        or "ext-modules" in table(document, "tool", "setuptools"),
        needs_installed=b"torch.utils.cpp_extension" in (setup_file or b"")
        and not any("torch" in each for each in _build_requirements(document)),
    )


def _is_requirements(path: str) -> bool:
    """Return whether pip reads the file: requirements-gpu.txt, requirements/gpu.txt."""
    pure = PurePosixPath(path)
    is_in_folder = pure.parent.name == "requirements" and pure.suffix == ".txt"
    return is_in_folder or REQUIREMENTS_FILE.fullmatch(pure.name) is not None


def _of_environment(name: str, text: str) -> DeclaredDependencies:
    """Return what a file of conda or pixi declares."""
    if name == PIXI_FILE:
        document = _document(text)
        tables = {key: document[key] for key in TOOL_KEYS["pixi"] if key in document}
        return DeclaredDependencies(rest=repr(tables) if tables else "")
    is_conda = name in USUAL_CONDA_FILES or CONDA_DEPENDENCIES.search(text)
    return DeclaredDependencies(rest=_without_comments(text) if is_conda else "")


def _without_comments(text: str) -> str:
    lines = (COMMENT.sub("", line).rstrip() for line in text.splitlines())
    return "\n".join(line for line in lines if line)


def _of_requirements(text: str) -> DeclaredDependencies:
    lines = [COMMENT.sub("", line).strip() for line in re.sub(r"\\\r?\n", " ", text).splitlines()]
    return DeclaredDependencies(
        requirements=tuple(line for line in lines if line and not line.startswith("-")),
        options=tuple(line for line in lines if INDEX_OPTION.match(line)),
        rest="\n".join(
            line for line in lines if line.startswith("-") and not INDEX_OPTION.match(line)
        ),
    )


def _of_pyproject(text: str) -> DeclaredDependencies:
    document = _document(text)
    project, poetry = table(document, "project"), table(document, "tool", "poetry")
    groups = (*table(project, "optional-dependencies").values(), *_groups(document))
    rest = (
        document.get("build-system"),
        *(table(document, "tool", tool).get(key) for tool in TOOL_KEYS for key in TOOL_KEYS[tool]),
        # What is installed names what plugins and commands import.
        *(project.get(name) for name in ("entry-points", "scripts", "gui-scripts")),
        *(poetry.get(name) for name in ("plugins", "scripts")),
        *(table(document, "tool").get(name) for name in COMPILER_TABLES),
    )
    return DeclaredDependencies(
        requirements=(
            *strings(project.get("dependencies")),
            *(text for group in groups for text in strings(group)),
        ),
        rest=repr(rest) if any(rest) else "",
    )


def _of_setup_py(content: bytes) -> DeclaredDependencies:
    requirements: list[str] = []
    for call in calls(content):
        for keyword in call.keywords if _function(call) == "setup" else ():
            if keyword.arg in {"install_requires", "extras_require"}:
                requirements += texts(keyword.value)
    return DeclaredDependencies(requirements=tuple(requirements), rest=_program(content))


def _of_setup_cfg(text: str) -> DeclaredDependencies:
    parser = configparser.ConfigParser(interpolation=None, strict=False)
    try:
        parser.read_string(text)
    except configparser.Error:
        return DeclaredDependencies(rest=text)
    values = [parser.get("options", "install_requires", fallback="")]
    if parser.has_section("options.extras_require"):
        values += [value for _, value in parser.items("options.extras_require")]
    lines = (line.strip() for value in values for line in value.splitlines())
    is_kept = re.compile(r"build.*|options\.entry_points").fullmatch
    rest = [parser.items(name) for name in parser.sections() if is_kept(name)]
    return DeclaredDependencies(
        requirements=tuple(line for line in lines if line),
        rest=repr(rest) if rest else "",
    )


def _program(content: bytes) -> str:
    """Return a setup.py without comments and package metadata, as text to compare."""
    try:
        tree = ast.parse(content)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return content.decode(errors="replace")
    for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
        call.keywords = [each for each in call.keywords if each.arg not in METADATA_ARGUMENTS]
    return ast.dump(tree)


def _document(text: str) -> dict[str, object]:
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError):
        return {}


def _groups(document: dict[str, object]) -> Iterator[object]:
    yield from table(document, "dependency-groups").values()
    tools = table(document, "tool")
    yield table(tools, "uv").get("dev-dependencies")
    yield from table(tools, "pdm", "dev-dependencies").values()
    yield table(tools, "flit", "metadata").get("requires")
    environments = table(tools, "hatch", "envs")
    for name in environments:
        environment = table(environments, name)
        yield from (environment.get(key) for key in ("dependencies", "extra-dependencies"))


def _build_requirements(document: dict[str, object]) -> tuple[str, ...]:
    """Return what a project's build requires."""
    return tuple(strings(table(document, "build-system").get("requires")))


def _function(call: ast.Call) -> str:
    return str(getattr(call.func, "attr", getattr(call.func, "id", "")))

"""Finds the folders from which a repository's packages are imported, without running its code."""

import ast
import configparser
import tomllib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import PurePosixPath
from typing import cast

# Any of these files makes its folder a project with its own packages.
PROJECT_FILES = ("pyproject.toml", "setup.py", "setup.cfg")
# Folders of a project that hold packages by convention, beside the project's own folder.
USUAL_FOLDERS = ("src", "python", "lib", "py")
# Imports from here are not what is measured, or are a copy of another project.
ASIDE = frozenset({"test", "tests", "doc", "docs", "example", "examples"})
VENDORED = frozenset({"third_party", "thirdparty", "vendor", "_vendor", "vendored"})
# Arguments of setup() and find_packages() that name such a folder.
SETUP_ARGUMENTS = frozenset({"package_dir", "where"})

ReadFile = Callable[[str], bytes | None]
Table = Mapping[str, object]


def project_folders(paths: Collection[str]) -> tuple[str, ...]:
    """Return the folders with a project file, and the top folder, as "." or a path below it."""
    folders = (
        str(PurePosixPath(path).parent)
        for path in paths
        if _name(path) in PROJECT_FILES and not is_within(path, ASIDE | VENDORED)
    )
    return tuple(dict.fromkeys((".", *folders)))


def import_folders(paths: Collection[str], projects: Iterable[str], read: ReadFile) -> set[str]:
    """Return the folders that hold packages, by convention or as a project file says.

    `read` returns a file's content, None if there is none.
    """
    folders: set[str] = set()
    for project in projects:
        named = [
            name
            for file in PROJECT_FILES
            if (path := join(project, file)) in paths
            for name in _named_folders(file, read(path) or b"")
        ]
        folders |= {join(project, name) for name in (".", *USUAL_FOLDERS, *named)}
    return folders


def renamed_packages(
    paths: Collection[str], projects: Iterable[str], read: ReadFile
) -> dict[str, tuple[str, str]]:
    """Return the folders of packages that are installed under another name.

    The value is that name and the folder of the project.
    """
    return {
        join(project, folder): (name, project)
        for project in projects
        for file in PROJECT_FILES
        if (path := join(project, file)) in paths
        for name, folder in _renamed_folders(file, read(path) or b"")
        if name and all(part.isidentifier() for part in name.split("."))
        if name != ".".join(PurePosixPath(folder).parts[-len(name.split(".")) :])
    }


def join(folder: str, name: str) -> str:
    """Return a path below `folder` in its shortest form, "." for the top folder."""
    return str(PurePosixPath(folder, name))


def is_within(path: str, names: Collection[str]) -> bool:
    """Return whether the path lies below a folder of one of the names."""
    return any(part in names for part in PurePosixPath(path).parts[:-1])


def extension_names(setup_file: bytes) -> set[str]:
    """Return the names that a setup.py gives its extension modules as plain text."""
    names: set[str] = set()
    for call in calls(setup_file):
        function = getattr(call.func, "attr", getattr(call.func, "id", ""))
        if str(function).endswith("Extension"):
            arguments = [
                *call.args[:1],
                *(each.value for each in call.keywords if each.arg == "name"),
            ]
            names |= {text for each in arguments for text in texts(each)}
    return names


def _named_folders(file: str, content: bytes) -> Iterator[str]:
    match file:
        case "pyproject.toml":
            yield from _of_pyproject(content)
        case "setup.py":
            for call in calls(content):
                for keyword in call.keywords:
                    if keyword.arg in SETUP_ARGUMENTS:
                        yield from texts(keyword.value)
                if getattr(call.func, "id", getattr(call.func, "attr", "")) == "find_packages":
                    yield from (text for each in call.args[:1] for text in texts(each))
        case _:
            yield from _of_setup_cfg(content.decode(errors="replace"))


def _of_pyproject(content: bytes) -> Iterator[str]:
    """Yield the folders that setuptools, maturin, uv, Poetry, PDM, Hatch or scikit-build names."""
    tool = table(_document(content), "tool")
    setuptools = table(tool, "setuptools")
    yield from strings(table(setuptools, "package-dir").values())
    yield from strings(table(setuptools, "packages", "find").get("where"))
    yield from strings(table(tool, "maturin").get("python-source"))
    yield from strings(table(tool, "uv", "build-backend").get("module-root"))
    yield from strings(table(tool, "pdm", "build").get("package-dir"))
    poetry = table(tool, "poetry").get("packages")
    for each in cast("list[object]", poetry) if isinstance(poetry, list) else ():
        yield from strings(table(each).get("from"))
    wheels = (table(tool, "hatch", "build", "targets", "wheel"), table(tool, "scikit-build"))
    packages = (wheels[0].get("packages"), table(wheels[1], "wheel").get("packages"))
    for path in (text for each in packages for text in strings(each)):
        yield str(PurePosixPath(path).parent)


def _renamed_folders(file: str, content: bytes) -> Iterator[tuple[str, str]]:
    """Yield packages' names and folders, as setuptools or Hatch maps them."""
    match file:
        case "pyproject.toml":
            tool = table(_document(content), "tool")
            yield from _pairs(table(tool, "setuptools", "package-dir"))
            wheel = table(tool, "hatch", "build", "targets", "wheel")
            for name in ("sources", "force-include"):
                yield from ((name, folder) for folder, name in _pairs(table(wheel, name)))
        case "setup.py":
            for call in calls(content):
                for keyword in call.keywords:
                    if keyword.arg == "package_dir" and isinstance(keyword.value, ast.Dict):
                        items = zip(keyword.value.keys, keyword.value.values, strict=True)
                        for key, value in items:
                            names = texts(key) if key is not None else ()
                            yield from zip(names, texts(value), strict=False)
        case _:
            parser = configparser.ConfigParser(interpolation=None, strict=False)
            with suppress(configparser.Error):
                parser.read_string(content.decode(errors="replace"))
                lines = parser.get("options", "package_dir", fallback="").splitlines()
                words = (line.partition("=") for line in lines)
                yield from ((name.strip(), folder.strip()) for name, _, folder in words)


def _pairs(names: Table) -> Iterator[tuple[str, str]]:
    yield from ((name, folder) for name, folder in names.items() if isinstance(folder, str))


def _of_setup_cfg(text: str) -> Iterator[str]:
    """Yield the folders of `package_dir` and of `where` in [options.packages.find]."""
    is_listing = False
    for line in text.splitlines():
        key, mark, value = (part.strip() for part in line.partition("="))
        if key in SETUP_ARGUMENTS and mark:
            is_listing = not value
            yield from filter(None, (value.rpartition("=")[2].strip(),))
        elif is_listing and line[:1].isspace() and (mark or key):
            yield value if mark else key
        else:
            is_listing = False


def _document(content: bytes) -> Table:
    """Return the content of a TOML file, empty if it cannot be read."""
    try:
        return tomllib.loads(content.decode(errors="replace"))
    except (ValueError, RecursionError):
        return {}


def table(value: object, *keys: str) -> Table:
    """Return the table under the keys, empty if there is none."""
    for key in keys:
        value = cast("Table", value).get(key) if isinstance(value, dict) else None
    return cast("Table", value) if isinstance(value, dict) else {}


def strings(value: object) -> Iterator[str]:
    """Yield a text, or the texts of a list."""
    match value:
        case str():
            yield value
        case Iterable():
            yield from (each for each in cast("Iterable[object]", value) if isinstance(each, str))
        case _:
            pass


def calls(source: bytes) -> Iterator[ast.Call]:
    """Yield the calls in a program, none if it cannot be parsed."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    yield from (node for node in ast.walk(tree) if isinstance(node, ast.Call))


def texts(node: ast.expr) -> Iterator[str]:
    """Yield the texts in a literal; in a dictionary, those of its values."""
    match node:
        case ast.Constant(value=str(text)):
            yield text
        case ast.List(elts=items) | ast.Tuple(elts=items):
            yield from (text for each in items for text in texts(each))
        case ast.Dict(values=values):
            yield from (text for each in values for text in texts(each))
        case _:
            pass


def _name(path: str) -> str:
    return path.rpartition("/")[2]

"""Derives the command that makes a side's environment from the files of its revision."""

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from perfledger_runners.checkouts.dependency_files import (
    ARCHIVES,
    NOTHING_DECLARED,
    LockedPackage,
    ProjectBuild,
    is_lock,
    locked_packages,
)
from perfledger_runners.checkouts.package_layout import PROJECT_FILES, join
from perfledger_runners.checkouts.source_tree import (
    SourceTree,
    changed_dependencies,
    changed_paths,
    first_few,
    is_below,
    is_compiled_source,
)
from perfledger_runners.environments.build import BuildError
from perfledger_runners.environments.lock_tool import (
    CONDA_FILES,
    CONDA_LOCKS,
    LockTool,
    conda_tool,
    lock_tool,
)

REQUIREMENTS = "requirements.txt"
ADVICE = "set `build` in perfledger.toml to the command that installs a checkout"
CONDA_ADVICE = (
    f"{ADVICE}, or `python` to the interpreter of the environment that conda or pixi made from it"
)
EXACT_PIN = re.compile(r"==[^*,;]+(;|$)")
LOWER_BOUND = re.compile(r">=?[^,;]+,?")
OPTION_VALUE = re.compile(r"^(--[\w-]+)=")
FIND_LINKS = frozenset({"-f", "--find-links"})
PACKAGE_NAME = re.compile(r"[A-Za-z0-9][\w.-]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildInputs:
    """Differences between revisions in the files that their environments are made from.

    `dependencies` are files that declare packages, `sources` those that are compiled into an
    installed package. `common` has the requirements that all revisions share, by file and without
    lower bounds; `locked` has the names of packages that differ in the lock file, and `new_sources`
    those of them that differ only in their source.
    """

    dependencies: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    common: Mapping[str, frozenset[str]] = field(default_factory=dict[str, frozenset[str]])
    locked: frozenset[str] = frozenset()
    new_sources: frozenset[str] = frozenset()

    @property
    def files(self) -> tuple[str, ...]:
        """Return the files that differ."""
        return tuple(dict.fromkeys((*self.dependencies, *self.sources)))


def build_inputs(base: SourceTree, head: SourceTree, *, paths: Sequence[str]) -> BuildInputs:
    """Return the differences in the projects that hold the workloads' `paths` or are compiled."""
    dependencies = tuple(
        path for path in changed_dependencies(base, head) if is_needed(path, base, head, paths)
    )
    before, after = (packages_in_lock(tree) for tree in (base, head))
    locked = {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}
    return BuildInputs(
        dependencies=dependencies,
        sources=tuple(
            path
            for path in changed_paths(base, head)
            if is_compiled_source(path)
            and any(tree.projects[tree.project_of(path)].is_compiled for tree in (base, head))
        ),
        common={
            path: _requirements(base, path) & _requirements(head, path) for path in dependencies
        },
        locked=frozenset(locked),
        new_sources=frozenset(
            name
            for name in locked & before.keys() & after.keys()
            if before[name].versions == after[name].versions
        ),
    )


def is_needed(path: str, base: SourceTree, head: SourceTree, paths: Sequence[str]) -> bool:
    """Return whether the file belongs to a project with workloads; the top one contains all."""
    for tree in (base, head):
        project = tree.project_of(path)
        if project == "." or any(is_below(each, project) for each in paths):
            return True
    return False


def install_tool(tree: SourceTree, inputs: BuildInputs, *, prefix: Path) -> LockTool | None:
    """Return the tool that installs a revision from its lock file, None if pip does.

    It is conda or pixi if the environment at `prefix` is theirs and its file differs; otherwise
    their installed packages are inherited.
    """
    conda = conda_tool(tree.hashes, prefix)
    is_changed = conda is not None and conda.lock in inputs.dependencies
    return lock_tool(tree.hashes) or (conda if is_changed else None)


def derived_build(tree: SourceTree, inputs: BuildInputs, tool: LockTool | None) -> str:
    """Return the usual command for a revision, "" if there is none and nothing differs.

    `tool` is the one that installs the revision. Raises BuildError if the command may not install
    what differs.
    """
    if tool is not None:
        is_locked = tool.lock in inputs.dependencies
        uninstallable = [
            path
            for path in _present(tree, inputs)
            if _is_other_environment(path, tool)
            or not (is_locked or (_is_project_file(path) and tree.project_of(path) == "."))
        ]
        command = " && ".join(_locked_commands(tool, tree.projects["."]))
    else:
        uninstallable = [
            path for path in _present(tree, inputs) if is_lock(path) or _is_unnamed(tree, path)
        ]
        command = " && ".join(dict.fromkeys(_pip_commands(tree, inputs)))
    if uninstallable:
        advice = CONDA_ADVICE if any(each in CONDA_LOCKS for each in uninstallable) else ADVICE
        msg = f"{first_few(uninstallable)} changed, and perfledger cannot install from it: {advice}"
        raise BuildError(msg)
    if inputs.files and not command:
        msg = f"{first_few(inputs.files)} changed, and this side has nothing to install: {ADVICE}"
        raise BuildError(msg)
    return command


def packages_in_lock(tree: SourceTree) -> Mapping[str, LockedPackage]:
    """Return the packages of the lock file that makes a revision's environment, by name."""
    tool = lock_tool(tree.hashes)
    declared = tree.dependencies.get(tool.lock, NOTHING_DECLARED) if tool else NOTHING_DECLARED
    return locked_packages(declared.rest)


def _locked_commands(tool: LockTool, project: ProjectBuild) -> Iterator[str]:
    yield tool.command
    if project.is_installable and not tool.has_project:
        yield _install(project, "--no-deps", ".")


def _install(project: ProjectBuild, *arguments: str) -> str:
    """Return pip's command that installs a project."""
    options = ("--no-build-isolation",) if project.needs_installed else ()
    return shlex.join(["pip", "install", *options, *arguments])


def _pip_commands(tree: SourceTree, inputs: BuildInputs) -> Iterator[str]:
    if REQUIREMENTS in tree.hashes:
        yield f"pip install -r {REQUIREMENTS}"
    changed = {tree.project_of(path) for path in inputs.files}
    for folder, build in sorted(tree.projects.items()):
        if build.is_installable and (folder == "." or folder in changed):
            yield _install(build, "." if folder == "." else f"./{folder}")
    for path in _present(tree, inputs):
        yield from _changed_requirements(tree, path, inputs)
    for path in inputs.dependencies:
        # A side without the wheel would keep an inherited package of the other side's.
        arguments = _linked_requirement(tree, path) if path not in tree.dependencies else ()
        if arguments:
            yield _forced_install(*arguments)


def _changed_requirements(tree: SourceTree, path: str, inputs: BuildInputs) -> Iterator[str]:
    """Yield the commands that replace installed packages which pip would keep.

    pip keeps what satisfies a requirement, but an inherited package may be the other side's.
    """
    declared = tree.dependencies[path]
    if path.endswith(ARCHIVES):
        arguments = (declared.archive,) if declared.archive else _linked_requirement(tree, path)
        yield _forced_install(*arguments)
        return
    changed = [
        each.partition(" --")[0].strip()
        for each in declared.requirements
        if _without_lower_bound(each) not in inputs.common[path]
    ]
    direct = [each for each in changed if _is_direct(each)]
    # An exact pin that another command installs needs no separate command.
    named = [
        each
        for each in changed
        if not (_is_direct(each) or (path == REQUIREMENTS and EXACT_PIN.search(each)))
    ]
    options = [word for line in declared.options for word in _option_words(line, path)]
    if named:
        yield shlex.join(["pip", "install", "--upgrade", *options, *named])
    if direct:
        yield _forced_install(*options, *direct)


def _forced_install(*arguments: str) -> str:
    return shlex.join(["pip", "install", "--force-reinstall", "--no-deps", *arguments])


def _present(tree: SourceTree, inputs: BuildInputs) -> tuple[str, ...]:
    return tuple(path for path in inputs.dependencies if path in tree.dependencies)


def _requirements(tree: SourceTree, path: str) -> frozenset[str]:
    declared = tree.dependencies.get(path, NOTHING_DECLARED)
    return frozenset(map(_without_lower_bound, declared.requirements))


def _without_lower_bound(requirement: str) -> str:
    """Return a requirement without its lower bound, which does not affect the newest version."""
    versions, mark, marker = requirement.partition(";")
    return f"{LOWER_BOUND.sub('', versions)}{mark}{marker}".replace(" ", "")


def _is_direct(requirement: str) -> bool:
    """Return whether the requirement is a URL or a path, whose version may not change."""
    source = requirement.partition(";")[0].strip()
    return (
        "://" in source
        or " @ " in source
        or source.startswith((".", "/"))
        or (source.endswith(ARCHIVES))
    )


def _option_words(line: str, path: str) -> list[str]:
    """Return one of pip's options in a requirements file; its folders are below the file's."""
    words = shlex.split(OPTION_VALUE.sub(r"\1 ", line))
    folder = str(PurePosixPath(path).parent)
    is_folder = words[0] in FIND_LINKS and "://" not in words[-1]
    return [*words[:-1], join(folder, words[-1].rstrip("/"))] if is_folder else words


def _is_unnamed(tree: SourceTree, path: str) -> bool:
    """Return whether this is an archive that no dependency file names, and no option finds."""
    is_named = not path.endswith(ARCHIVES) or tree.dependencies[path].archive
    return not (is_named or _linked_requirement(tree, path))


def _linked_requirement(tree: SourceTree, wheel: str) -> tuple[str, ...]:
    """Return pip's arguments that install a wheel's package from its folder, () if none do.

    They are those of a file that names the package, and the folder with --find-links.
    """
    name = _package_name(PurePosixPath(wheel).name.partition("-")[0])
    folder = str(PurePosixPath(wheel).parent)
    for path, declared in tree.dependencies.items():
        options = [_option_words(line, path) for line in declared.options]
        if not any(words[0] in FIND_LINKS and words[-1] == folder for words in options):
            continue
        for requirement in declared.requirements:
            if _package_name(requirement) == name:
                words = (word for each in options for word in each)
                return (*words, requirement.partition(" --")[0].strip())
    return ()


def _package_name(requirement: str) -> str:
    """Return the normalized name at the beginning of a requirement."""
    match = PACKAGE_NAME.match(requirement)
    return re.sub(r"[-_.]+", "-", match[0]).lower() if match else ""


def _is_other_environment(path: str, tool: LockTool) -> bool:
    """Return whether conda makes another environment of the file than its usual one."""
    return tool.lock in CONDA_FILES and path != tool.lock and is_lock(path)


def _is_project_file(path: str) -> bool:
    return PurePosixPath(path).name in PROJECT_FILES

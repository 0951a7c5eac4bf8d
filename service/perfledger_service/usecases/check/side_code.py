"""Prepares the code of both sides: their packages, and environments built for them."""

from collections.abc import Generator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from shutil import which
from time import time

from perfledger.package_code import SourcePackage
from perfledger.protocol import ChildRequest
from perfledger.records import Side
from perfledger_runners.checkouts.compiled_code import has_same_code
from perfledger_runners.checkouts.missing_content import PointerWatch
from perfledger_runners.checkouts.repository import Repository
from perfledger_runners.checkouts.source_tree import (
    MAX_TRACKED,
    SourceTree,
    changed_dependencies,
    first_few,
    is_mentioned,
)
from perfledger_runners.children.child_guard import NO_GUARD, ChildGuard
from perfledger_runners.children.harness import Harness
from perfledger_runners.children.interpreter import Interpreter
from perfledger_runners.environments.build import BuildError
from perfledger_runners.environments.cache import EnvironmentCache
from perfledger_runners.environments.derived_build import (
    ADVICE,
    BuildInputs,
    derived_build,
    install_tool,
    packages_in_lock,
)
from perfledger_runners.environments.lock_tool import lock_tool
from perfledger_runners.environments.side import (
    BuildRequest,
    EnvironmentDistributions,
    environment_distributions,
    environment_time,
    side_environment,
)
from perfledger_runners.measuring.code_origin import CodeOriginCheck, distribution_notes
from perfledger_runners.measuring.discovery import (
    ALL_WORKLOADS,
    Discovery,
    UnreadablePath,
    discover,
)
from perfledger_runners.safe_text import MAX_DETAIL
from perfledger_runners.user_folders import cache_folder
from perfledger_service.settings.check import CheckSettings

NO_BUILD_NOTE = (
    "{} has no lock file, requirements.txt, pyproject.toml or setup.py to build an environment "
    "from: it ran with what is installed; set `build` in perfledger.toml"
)
SAME_VERSIONS_NOTE = "{} changed, but both environments have the same versions of all packages"
OWN_ENVIRONMENT_NOTE = "{} changed: each side ran in a separate environment, made by {}"
OUTSIDE_SANDBOX = (
    "{} changed, which needs a build of each side, and a build runs outside the sandbox: set "
    "`isolated` or `build` in perfledger.toml if the changes of pull requests may do so"
)
AFTER_HANGING = "it was not built, because the build of the other side did not end in time"
UNBUILT_NOTE = (
    "nothing is compared yet, so the workloads were listed with what is installed; later checks "
    "need a build"
)
OTHER_PYTHON_NOTE = (
    "{} changed, but both sides ran with the same Python: another version was not measured"
)
PYTHON_VERSION_FILE = ".python-version"
MAX_COMMAND = 200  # characters of one error in a sentence


@dataclass(frozen=True, slots=True, kw_only=True)
class SideCode:
    """The code of both sides; `requests` name the packages and environments of each.

    A side whose build failed has an entry in `failures`.
    """

    requests: Mapping[Side, ChildRequest]
    origin: CodeOriginCheck
    failures: Mapping[Side, BuildError]
    build_notes: tuple[str, ...]

    def discover(self, harness: Harness, side: Side) -> Discovery:
        """List a side's workloads; a side that was not built has none, and says why."""
        request = self.requests[side]
        failure = self.failures.get(side)
        if failure is None:
            return discover(harness, request)
        path = UnreadablePath(
            path=", ".join(request.paths) or ALL_WORKLOADS,
            reason=failure.reason,
            detail=str(failure),
            log_tail=failure.output,
        )
        return Discovery(broken=(path,))

    def notes(self, base: Discovery, head: Discovery) -> tuple[str, ...]:
        """Return notes on the code that ran, once it has run."""
        differences: tuple[str, ...] = ()
        # A side without workloads has imported nothing; built sides are compared as a whole.
        if (
            not self.origin.is_built
            and base.facts
            and head.facts
            and base.workloads
            and head.workloads
        ):
            differences = distribution_notes(base.facts.distributions, head.facts.distributions)
        return self.build_notes + differences + self.origin.notes()


@dataclass(frozen=True, slots=True, kw_only=True)
class BuiltCode:
    """The code of one commit, checked out, and built if the settings or a change need it.

    `request` names its packages and its environment; `command` is "" without a build; `inputs` are
    the changed files that required a build that no setting asks for. Of the distributions, those
    `of_files` were installed from files, as the checkout's own are; `contents` has digests of the
    files of those that were built.
    """

    request: ChildRequest
    tree: SourceTree
    inputs: BuildInputs
    command: str = ""
    distributions: Mapping[str, str] = field(default_factory=dict[str, str])
    of_files: frozenset[str] = frozenset()
    pointers: frozenset[str] = frozenset()  # files in Git LFS whose content is not in the checkout
    contents: Mapping[str, str] = field(default_factory=dict[str, str])
    built_at: float = 0.0  # by the clock of the environments' cache
    failure: BuildError | None = None

    @property
    def has_hung(self) -> bool:
        """Return whether the build used all of its time."""
        return self.failure is not None and self.failure.has_hung


@contextmanager
def build_code(
    tree: SourceTree,
    request: ChildRequest,
    settings: CheckSettings,
    *,
    inputs: BuildInputs,
    interpreter: Interpreter,
    environment: Mapping[str, str],
    guard: ChildGuard = NO_GUARD,
    is_renewed: bool = False,
    facing: BuiltCode | None = None,
) -> Generator[BuiltCode]:
    """Build the environment of a complete checkout if the settings or the changed inputs need it.

    A renewed environment is not taken from the cache. A build that fails, or whose command is
    unknown, is a failure of this code, never an error. If the build of the `facing` side hung, this
    one is not tried: nothing could be compared, and it would probably take as long.
    """
    code = BuiltCode(request=replace(request, packages=tree.tracked()), tree=tree, inputs=inputs)
    with ExitStack() as stack:
        try:
            code = replace(code, command=_command(tree, settings, inputs, interpreter, environment))
            if code.command and facing and facing.has_hung:
                raise BuildError(AFTER_HANGING)  # noqa: TRY301 - a failure of this code, too
            if code.command:
                build = BuildRequest(
                    command=code.command,
                    sources=tree.digest,
                    interpreter=interpreter,
                    environment=environment,
                    variable_names=settings.env,
                    timeout_s=settings.build_timeout,
                    guard=guard,
                )
                folder = stack.enter_context(
                    _environment(build, Path(request.root), is_renewed=is_renewed)
                )
                distributions = environment_distributions(folder, build)
                if not settings.build:
                    check_locked(distributions, tree, inputs)
                code = replace(
                    code,
                    request=replace(code.request, environment=str(folder)),
                    distributions=distributions.importable,
                    of_files=distributions.of_files,
                    contents=distributions.contents,
                    built_at=min(environment_time(folder), time()),
                )
        except BuildError as error:
            code = replace(
                code, failure=error if settings.build else _error_with_advice(error, inputs)
            )
        yield code


def needs_build(settings: CheckSettings, inputs: BuildInputs) -> bool:
    """Return whether each side gets an environment of its own."""
    return bool(settings.build or settings.isolated or inputs.files)


def pair_code(
    base: BuiltCode, head: BuiltCode, settings: CheckSettings, *, is_first_use: bool = False
) -> SideCode:
    """Return the code of two commits as the sides of a check.

    On a first use nothing is compared: a build that no setting asks for may fail.
    """
    sides = {Side.BASE: base, Side.HEAD: head}
    errors = {side: code.failure for side, code in sides.items() if code.failure is not None}
    is_needless = is_first_use and not settings.build
    is_built = all(code.request.environment for code in sides.values())
    dependencies = changed_dependencies(base.tree, head.tree)
    installed = dependencies if settings.build else head.inputs.dependencies
    return SideCode(
        requests={
            side: _recording(code.request, sides[side.facing].request)
            for side, code in sides.items()
        },
        origin=CodeOriginCheck(
            base=base.tree,
            head=head.tree,
            is_built=is_built,
            installed=installed if is_built else (),
            pointers=PointerWatch(
                roots={side: Path(code.request.root) for side, code in sides.items()},
                pointers={side: code.pointers for side, code in sides.items()},
            ),
            has_object=Repository(Path(head.request.repository)).has_object,
            repository=Path(head.request.repository),
            is_mentioned=partial(is_mentioned, Path(head.request.root)),
            has_same_code=partial(has_same_code, Path(head.request.repository)),
        ),
        failures={} if is_needless else errors,
        build_notes=(
            *(_unbuilt_notes(errors) if is_needless else _notes(sides, settings)),
            *_python_notes(base.tree, head.tree),
        ),
    )


def _recording(request: ChildRequest, facing: ChildRequest) -> ChildRequest:
    """Return a side's request, so that packages which only the facing side has are recorded too.

    Where a side lacks one, an installed copy may run in its place.
    """
    names = {package.name for package in request.packages}
    missing = (SourcePackage(each.name) for each in facing.packages if each.name not in names)
    return replace(request, packages=(*request.packages, *missing)[:MAX_TRACKED])


def check_locked(
    distributions: EnvironmentDistributions, tree: SourceTree, inputs: BuildInputs
) -> None:
    """Raise BuildError if packages that differ in the lock file would match neither side.

    An inherited package is accepted in its locked version, unless the sides take it from different
    sources.
    """
    tool, packages = lock_tool(tree.hashes), packages_in_lock(tree)
    names = sorted((distributions.inherited.keys() - distributions.built) & inputs.locked)
    foreign = [name for name in names if name not in packages]
    left_out = [
        name
        for name in names
        if name in packages
        and (
            name in inputs.new_sources
            or distributions.inherited[name] not in packages[name].versions
        )
    ]
    if tool is None or not (foreign or left_out):
        return
    msg = (
        f"`{tool.command}` leaves out {first_few(left_out)}, which differs in {tool.lock} and "
        "would run as installed: set `build` in perfledger.toml to one that installs its extra or "
        f"group, such as `{tool.command} {tool.options}`"
        if left_out
        else f"{first_few(foreign)} is installed and both sides inherit it, but {tool.lock} has it "
        "on one side alone: set `python` in perfledger.toml to an environment without it"
    )
    raise BuildError(msg)


def _command(
    tree: SourceTree,
    settings: CheckSettings,
    inputs: BuildInputs,
    interpreter: Interpreter,
    environment: Mapping[str, str],
) -> str:
    """Return the command that builds a side, "" if it runs with what is installed."""
    if settings.build or not needs_build(settings, inputs):
        return settings.build
    if settings.sandbox and not settings.isolated:
        msg = OUTSIDE_SANDBOX.format(first_few(inputs.files))
        raise BuildError(msg)
    tool = install_tool(tree, inputs, prefix=interpreter.prefix)
    command = derived_build(tree, inputs, tool)
    if tool is not None and not which(tool.program, path=environment.get("PATH")):
        msg = f"{tool.lock} needs {tool.program}, which is not on PATH: install it, or {ADVICE}"
        raise BuildError(msg)
    return command


@contextmanager
def _environment(build: BuildRequest, checkout: Path, *, is_renewed: bool) -> Generator[Path]:
    cache = EnvironmentCache(folder=cache_folder(build.environment) / "environments")
    with side_environment(cache, build, checkout, is_renewed=is_renewed) as folder:
        cache.clean()
        yield folder


def _error_with_advice(error: BuildError, inputs: BuildInputs) -> BuildError:
    """Return the error of a build that no setting asked for, with what to do."""
    text = str(error)
    if not inputs.files or "`build`" in text:
        return error
    msg = f"{text} ({first_few(inputs.files)} changed, which needs a build of each side): {ADVICE}"
    return BuildError(msg[:MAX_DETAIL], output=error.output, has_hung=error.has_hung)


def _notes(sides: Mapping[Side, BuiltCode], settings: CheckSettings) -> tuple[str, ...]:
    """Return how the sides were built, and what differs between their environments."""
    base, head = (sides[side] for side in Side)
    if base.request.environment and head.request.environment:
        differences = distribution_notes(base.distributions, head.distributions)
        changed = first_few(changed_dependencies(base.tree, head.tree))
        if changed and not differences:
            differences = (SAME_VERSIONS_NOTE.format(changed),)
        return _own_environment_notes(sides, settings) + differences
    if head.inputs.files or settings.build or not settings.isolated:
        return ()
    return tuple(NO_BUILD_NOTE.format(side) for side in Side if not sides[side].command)


def _unbuilt_notes(errors: Mapping[Side, BuildError]) -> tuple[str, ...]:
    """Return why head's workloads were listed with the installed packages."""
    error = errors.get(Side.HEAD)
    if error is None:
        return ()
    return (f"{UNBUILT_NOTE}: {error}"[:MAX_DETAIL],)


def _python_notes(base: SourceTree, head: SourceTree) -> tuple[str, ...]:
    """Return a note on files that choose a version of Python, which one check does not change."""
    files = [
        path
        for path in sorted(base.hashes.keys() & head.hashes.keys())
        if path.rpartition("/")[2] == PYTHON_VERSION_FILE and base.hashes[path] != head.hashes[path]
    ]
    return (OTHER_PYTHON_NOTE.format(first_few(files)),) if files else ()


def _own_environment_notes(
    sides: Mapping[Side, BuiltCode], settings: CheckSettings
) -> tuple[str, ...]:
    """Return why each side was built although no setting says so."""
    files = first_few(sides[Side.HEAD].inputs.files)
    if settings.build or settings.isolated or not files:
        return ()
    commands = dict.fromkeys(f"`{code.command[:MAX_COMMAND]}`" for code in sides.values())
    return (OWN_ENVIRONMENT_NOTE.format(files, " and ".join(commands)),)

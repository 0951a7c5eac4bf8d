"""Prepares the code of both sides: their packages, and environments built for them."""

from collections.abc import Generator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from perfledger.protocol import ChildRequest
from perfledger.records import FailureReason, Side
from perfledger_runners.checkouts.source_tree import SourceTree
from perfledger_runners.children.harness import Harness
from perfledger_runners.children.interpreter import Interpreter
from perfledger_runners.environments.build import BuildError, default_build
from perfledger_runners.environments.environment_cache import EnvironmentCache, cache_folder
from perfledger_runners.environments.side_environment import BuildRequest, side_environment
from perfledger_runners.measuring.code_origin import CodeOriginCheck, build_note, distribution_notes
from perfledger_runners.measuring.discovery import Discovery, UnreadablePath, discover
from perfledger_service.settings.check import CheckSettings

NO_BUILD_NOTE = (
    "{} has no uv.lock, requirements.txt, pyproject.toml or setup.py to build an environment from: "
    "it ran with what is installed; set `build` in [tool.perfledger]"
)


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
        """List a side's workloads; one that was not built has none, and says why."""
        request = self.requests[side]
        failure = self.failures.get(side)
        if failure is None:
            return discover(harness, request)
        path = UnreadablePath(
            path=", ".join(request.paths),
            reason=FailureReason.BUILD,
            detail=str(failure),
            log_tail=failure.output,
        )
        return Discovery(broken=(path,))

    def notes(self, base: Discovery, head: Discovery) -> tuple[str, ...]:
        """Return what the author should know about the code that ran, after it ran."""
        differences: tuple[str, ...] = ()
        # A side without workloads has imported nothing.
        if base.facts and head.facts and base.workloads and head.workloads:
            differences = distribution_notes(base.facts.distributions, head.facts.distributions)
        return self.build_notes + differences + self.origin.notes()


@dataclass(frozen=True, slots=True, kw_only=True)
class BuiltCode:
    """The code of one commit, checked out, and built if the settings say so.

    `request` names its packages and its environment; `command` is "" without a build.
    """

    request: ChildRequest
    tree: SourceTree
    command: str
    failure: BuildError | None = None


@contextmanager
def build_code(
    tree: SourceTree,
    request: ChildRequest,
    settings: CheckSettings,
    *,
    interpreter: Interpreter,
    environment: Mapping[str, str],
) -> Generator[BuiltCode]:
    """Build the environment of a complete checkout if the settings say so.

    A build that fails is a failure of this code, never an error.
    """
    command = _command(tree, settings)
    code = BuiltCode(request=replace(request, packages=tree.tracked()), tree=tree, command=command)
    if not command:
        yield code
        return
    cache = EnvironmentCache(folder=cache_folder(environment))
    build = BuildRequest(
        command=command,
        sources=tree.digest,
        interpreter=interpreter,
        environment=environment,
        variable_names=settings.env,
        timeout_s=settings.build_timeout,
    )
    with ExitStack() as stack:
        try:
            folder = stack.enter_context(side_environment(cache, build, Path(request.root)))
        except BuildError as error:
            code = replace(code, failure=error)
        else:
            cache.clean()
            code = replace(code, request=replace(code.request, environment=str(folder)))
        yield code


def pair_code(base: BuiltCode, head: BuiltCode, settings: CheckSettings) -> SideCode:
    """Return the code of two commits as the sides of a check."""
    sides = {Side.BASE: base, Side.HEAD: head}
    return SideCode(
        requests={side: code.request for side, code in sides.items()},
        origin=CodeOriginCheck(
            base=base.tree,
            head=head.tree,
            is_built=all(code.request.environment for code in sides.values()),
        ),
        failures={side: code.failure for side, code in sides.items() if code.failure is not None},
        build_notes=_notes(sides, settings),
    )


def _command(tree: SourceTree, settings: CheckSettings) -> str:
    """Return the command that builds a side, "" if it runs with what is installed."""
    if settings.build or not settings.isolated:
        return settings.build
    return default_build(tree.hashes.keys())


def _notes(sides: Mapping[Side, BuiltCode], settings: CheckSettings) -> tuple[str, ...]:
    if settings.isolated:
        return tuple(NO_BUILD_NOTE.format(side) for side in Side if not sides[side].command)
    note = "" if settings.build else build_note(sides[Side.BASE].tree, sides[Side.HEAD].tree)
    return (note,) if note else ()

"""Prepares the code of both sides: their packages, and environments built for them."""

from collections.abc import Callable, Generator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from perfledger.protocol import ChildRequest
from perfledger.records import FailureReason, Side
from perfledger_runners.checkouts.repository import Repository
from perfledger_runners.checkouts.source_tree import SourceTree, read_source_tree
from perfledger_runners.children.harness import Harness
from perfledger_runners.children.interpreter import Interpreter
from perfledger_runners.environments.build import BuildError, default_build
from perfledger_runners.environments.environment_cache import EnvironmentCache, cache_folder
from perfledger_runners.environments.side_environment import BuildRequest, side_environment
from perfledger_runners.measuring.code_origin import CodeOriginCheck, build_note, distribution_notes
from perfledger_runners.measuring.discovery import Discovery, UnreadablePath, discover
from perfledger_service.settings.check import CheckSettings
from perfledger_service.usecases.check.revisions import RevisionPair

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
        if base.facts is not None and head.facts is not None:
            differences = distribution_notes(base.facts.distributions, head.facts.distributions)
        return self.build_notes + differences + self.origin.notes()


@contextmanager
def prepare_code(
    repository: Repository,
    sides: RevisionPair,
    requests: Mapping[Side, ChildRequest],
    settings: CheckSettings,
    *,
    interpreter: Interpreter,
    environment: Mapping[str, str],
    stage: Callable[[str], None],
) -> Generator[SideCode]:
    """Find both sides' packages, and build their environments if the settings say so.

    The requests' checkouts are complete. A build that fails fails its side, never the check.
    """
    trees = {
        side: read_source_tree(repository, revision.sha, import_paths=settings.import_paths)
        for side, revision in ((Side.BASE, sides.base), (Side.HEAD, sides.head))
    }
    commands = {side: _command(trees[side], settings) for side in Side}
    failures: dict[Side, BuildError] = {}
    environments: dict[Side, Path] = {}
    cache = EnvironmentCache(folder=cache_folder(environment))
    with ExitStack() as stack:
        for side, command in commands.items():
            if not command:
                continue
            stage(f"building {side}")
            build = BuildRequest(
                command=command,
                sources=trees[side].digest,
                interpreter=interpreter,
                environment=environment,
                timeout_s=settings.build_timeout,
            )
            checkout = Path(requests[side].root)
            try:
                environments[side] = stack.enter_context(side_environment(cache, build, checkout))
            except BuildError as error:
                failures[side] = error
        if environments:
            cache.clean()
        yield SideCode(
            requests={
                side: replace(
                    request,
                    packages=trees[side].tracked(),
                    environment=str(environments.get(side, "")),
                )
                for side, request in requests.items()
            },
            origin=CodeOriginCheck(
                base=trees[Side.BASE],
                head=trees[Side.HEAD],
                is_built=len(environments) == len(Side),
            ),
            failures=failures,
            build_notes=_notes(trees, commands, settings),
        )


def _command(tree: SourceTree, settings: CheckSettings) -> str:
    """Return the command that builds a side, "" if it runs with what is installed."""
    if settings.build or not settings.isolated:
        return settings.build
    return default_build(tree.hashes.keys())


def _notes(
    trees: Mapping[Side, SourceTree], commands: Mapping[Side, str], settings: CheckSettings
) -> tuple[str, ...]:
    if settings.isolated:
        return tuple(NO_BUILD_NOTE.format(side) for side in Side if not commands[side])
    note = "" if settings.build else build_note(trees[Side.BASE], trees[Side.HEAD])
    return (note,) if note else ()

"""Resolves the two revisions of a check, and reads the base's settings."""

import posixpath
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import PurePosixPath
from typing import cast

from perfledger.process.asv.configuration import (
    MAX_CONFIGURATION_BYTES,
    USUAL_FOLDER,
    asv_configurations,
    named_folder,
)
from perfledger.protocol import BenchmarkSuite
from perfledger.records import Revision, short_sha
from perfledger_runners.checkouts.repository import Repository, UnknownRevisionError
from perfledger_runners.checkouts.workload_overlay import (
    WorkloadOverlay,
    WorkloadSource,
)
from perfledger_runners.safe_text import clean_text
from perfledger_service.errors import SettingsError, UsageError
from perfledger_service.rendering.layout.number_format import quantity
from perfledger_service.settings.check import CheckSettings
from perfledger_service.settings.sources import (
    CONFIG_FILES,
    MAX_CONFIG_BYTES,
    check_settings,
    file_table,
    start_settings,
)
from perfledger_service.settings.validation import is_showable
from perfledger_service.usecases.check.overlays.benchmark_tests import paths_of_tests
from perfledger_service.usecases.check.overlays.hidden_changes import hidden_change_notes

UNTRUSTED_ENV_NOTE = (
    "`env` was not used, because only the change has this configuration: set PERFLEDGER_ENV where "
    "the check runs, or merge the configuration first"
)

MAX_SETTINGS = 5  # named in a note
MAX_SETTING = 40  # letters of its name there

NO_TESTS = (
    "no test in {} uses the fixture `benchmark`: name the folders or files of its tests, as in "
    'PERFLEDGER_PATHS=\'["tests"]\', or as `paths` next to `suite = "pytest"` in its configuration'
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RevisionPair:
    """The two sides of a check, and notes on how they were chosen.

    `is_base_merged` is False for a base that is itself a commit of the change.
    """

    base: Revision
    head: Revision
    notes: tuple[str, ...] = ()
    is_base_merged: bool = True


def resolve_revisions(repository: Repository, *, base: str, head: str) -> RevisionPair:
    """Return the two revisions to compare.

    `head` is a revision, or "" for the working folder with its uncommitted changes. The base is the
    merge-base of head with `base`, or with the default branch if `base` is ""; a head on the
    default branch is then compared with its first parent. Raises RepositoryError.
    """
    revision = repository.resolve(head) if head else repository.snapshot()
    branch = base or repository.default_branch()
    ancestor, ref = repository.merge_base(branch, revision.sha), f"merge-base with {branch}"
    if ancestor == revision.sha and not base:
        ancestor, ref = _parent(repository, revision), "first parent"
    if not revision.is_dirty:
        revision = replace(revision, depth=repository.depth(revision.sha))
    return RevisionPair(base=_base(repository, ancestor, ref=ref), head=revision)


def start_at_workloads(repository: Repository, sides: RevisionPair) -> RevisionPair:
    """Return the sides with a base that has workloads, so that a first use can be compared.

    Where the base has neither a configuration nor workloads, it is replaced by the last commit
    before the head that changed the head's workloads, if there is one. Raises RepositoryError.
    """
    base = sides.base
    read_base = partial(repository.read_file, base.sha)
    if _table(read_base) is not None or repository.files_with_workloads(base.sha):
        return sides
    latest = repository.last_change_of_workloads(base.sha, sides.head.sha)
    if not latest:
        return sides
    note = (
        f"the {base.ref} ({short_sha(base.sha)}) has no workloads yet: base is "
        f"{_name(repository, latest)}, the last commit that changed them"
    )
    chosen = _base(repository, latest, ref="last commit that changed the workloads")
    return replace(sides, base=chosen, notes=(*sides.notes, note), is_base_merged=False)


def _base(repository: Repository, sha: str, *, ref: str) -> Revision:
    return replace(repository.resolve(sha), ref=ref, depth=repository.depth(sha))


def _name(repository: Repository, sha: str) -> str:
    """Return a commit's short hash, with HEAD before it where it is HEAD."""
    is_head = repository.resolve("HEAD").sha == sha
    return f"HEAD ({short_sha(sha)})" if is_head else short_sha(sha)


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckConfiguration:
    """The settings of a check, base's configuration file ("" without one), and notes on both.

    `overlay` has the workloads that replace those of both revisions, if any. `start_settings` are
    those that the command line and the environment gave. `head_paths` are head's `paths` if base's
    apply and differ from them.
    """

    settings: CheckSettings
    base_file: str
    notes: tuple[str, ...]
    overlay: WorkloadOverlay | None = None
    start_settings: Mapping[str, str] = field(default_factory=dict[str, str])
    head_paths: tuple[str, ...] = ()

    def shown_settings(self) -> dict[str, str]:
        """Return the start settings that a command may show."""
        return {name: text for name, text in self.start_settings.items() if is_showable(text)}

    def checked_out_sha(self, repository: Repository, sha: str) -> str:
        """Return the commit to check out for a revision: itself, or with the overlay applied."""
        return self.overlay.lay_over(repository, sha) if self.overlay else sha


def is_first_use(repository: Repository, base: Revision, configuration: CheckConfiguration) -> bool:
    """Return whether base has neither a configuration nor workloads, and no overlay adds any.

    Another tool's benchmarks cannot be recognized by their text: base may have them.
    """
    if configuration.base_file or configuration.overlay is not None:
        return False
    if configuration.settings.suite != BenchmarkSuite.PERFLEDGER.value:
        return False
    return not repository.files_with_workloads(base.sha)


def configuration_from(
    repository: Repository,
    source: WorkloadSource,
    sides: RevisionPair,
    *,
    flags: Mapping[str, object],
) -> CheckConfiguration:
    """Return the configuration of a check that takes workloads and their settings from the source.

    Raises SettingsError, RepositoryError for workloads that cannot be overlaid, UsageError if
    there are no benchmarks of pytest, and NotMeasuredError if they hide the whole change.
    """
    name, table = _table(source.read_file) or ("", None)
    settings, _ = check_settings(flags=flags, table=table, table_name=name)
    start_values = start_settings(flags, settings)
    settings = settings.model_copy(update={"paths": _overlay_paths(source, settings)})
    overlay = source.overlay(settings.paths)
    number = len(overlay.files)
    files = f"{quantity(number, 'file')} at {', '.join(overlay.paths)}"
    note = (
        f"the workloads and their settings are those of {overlay.source}: {files}, laid over both "
        "sides"
    )
    hidden = hidden_change_notes(
        repository, sides.base.sha, sides.head.sha, overlay=overlay, settings=settings
    )
    notes = (note, *hidden, *_same_commit_notes(sides))
    return CheckConfiguration(
        settings=settings, base_file=name, notes=notes, overlay=overlay, start_settings=start_values
    )


def configuration_of(
    repository: Repository, sides: RevisionPair, *, flags: Mapping[str, object]
) -> CheckConfiguration:
    """Return the configuration of a check.

    The configuration is the base commit's, so that a change cannot relax its own gate; without one
    it is the head's, with a note. Raises SettingsError.
    """
    notes = sides.notes
    config = _table(partial(repository.read_file, sides.base.sha))
    read_head = partial(repository.read_file, sides.head.sha)
    base_file = config[0] if config else ""
    head_table: Mapping[str, object] = {}
    if config is not None:
        head_table, head_notes = _head_table(read_head, config[1], flags=flags)
        notes += head_notes
    else:
        config = _table(read_head)
        if config is not None:
            notes += (f"base has no configuration: the head's {config[0]} was used",)
    # A change must not obtain the job's credentials.
    if config and not (base_file and sides.is_base_merged) and config[1].pop("env", ()):
        notes += (UNTRUSTED_ENV_NOTE,)
    name, table = config or ("", None)
    settings, _ = check_settings(flags=flags, table=table, table_name=name)
    notes += _same_commit_notes(sides)
    return CheckConfiguration(
        settings=settings,
        base_file=base_file,
        notes=notes,
        start_settings=start_settings(flags, settings),
        head_paths=_other_paths(head_table, settings) if base_file else (),
    )


def _head_table(
    read_file: Callable[..., bytes | None],
    base: Mapping[str, object],
    *,
    flags: Mapping[str, object],
) -> tuple[Mapping[str, object], tuple[str, ...]]:
    """Return head's settings, which do not apply, and a note on those that it changes or breaks.

    Settings that are refused are none.
    """
    try:
        found_table = _table(read_file)
        if found_table is None:
            return {}, ("head removes the configuration: base's applies until that is merged",)
        name, head = found_table
        check_settings(flags=flags, table=dict(head), table_name=name)
    except SettingsError as error:
        return {}, (f"head's configuration will be refused once it is merged: {error}",)
    names = sorted(name for name in {*base, *head} if base.get(name) != head.get(name))
    if not names:
        return head, ()
    more = f" and {len(names) - MAX_SETTINGS} more" if len(names) > MAX_SETTINGS else ""
    listed = clean_text(", ".join(name[:MAX_SETTING] for name in names[:MAX_SETTINGS]))
    return head, (f"head changes settings ({listed}{more}): base's apply until they are merged",)


def _other_paths(table: Mapping[str, object], settings: CheckSettings) -> tuple[str, ...]:
    """Return the `paths` of a configuration that does not apply, if they differ."""
    paths = table.get("paths")
    listed = cast("list[object]", paths) if isinstance(paths, list) else []
    names = tuple(name for name in listed if isinstance(name, str))
    return names if set(names) != set(settings.paths) else ()


def _overlay_paths(source: WorkloadSource, settings: CheckSettings) -> tuple[str, ...]:
    """Return the paths to overlay: those of asv's configuration, or of tests with the fixture."""
    if settings.own_paths or settings.suite == BenchmarkSuite.PERFLEDGER.value:
        return settings.paths
    if settings.suite == BenchmarkSuite.PYTEST.value:
        paths = paths_of_tests(source)
        if not paths:
            raise UsageError(NO_TESTS.format(source.name))
        return paths
    folders: list[str] = []
    for path in asv_configurations(source.paths()):
        content = source.read_file(path, max_bytes=MAX_CONFIGURATION_BYTES) or b""
        folder = PurePosixPath(path).parent / named_folder(content.decode(errors="replace"))
        folders.append(posixpath.normpath(folder))
    return tuple(dict.fromkeys(folders)) or (USUAL_FOLDER,)


def _same_commit_notes(sides: RevisionPair) -> tuple[str, ...]:
    if sides.base.sha != sides.head.sha:
        return ()
    return ("base and head are the same commit: any difference is noise",)


def _parent(repository: Repository, head: Revision) -> str:
    try:
        return repository.first_parent(head.sha)
    except UnknownRevisionError as error:
        msg = f"nothing to compare {head.ref} with: {error}; change something or pass --base"
        raise UsageError(msg) from error


def _table(read_file: Callable[..., bytes | None]) -> tuple[str, dict[str, object]] | None:
    for name in CONFIG_FILES:
        content = read_file(name, max_bytes=MAX_CONFIG_BYTES)
        table = None if content is None else file_table(name, content)
        if table is not None:
            return name, table
    return None

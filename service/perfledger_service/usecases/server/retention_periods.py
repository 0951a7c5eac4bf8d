"""Reads from the settings how long data is kept, for all projects and for single ones."""

from collections.abc import Iterable, Mapping

from perfledger_service.errors import SettingsError
from perfledger_service.settings.retention import MAX_DAYS, MIN_DAYS, RetentionSettings
from perfledger_service.values.storage.retention import (
    UPLOAD_CLASSES,
    OwnPeriod,
    RetentionClass,
    RetentionPolicy,
)

SETTING = "PERFLEDGER_KEEP_OF_PROJECTS"
FOR_EVER = "ever"
MAX_CHARACTERS = 20_000  # length of the setting: some hundred projects


def retention_policy(
    settings: RetentionSettings, overrides: Mapping[RetentionClass, int] | None = None
) -> RetentionPolicy:
    """Return for how long each class is kept: by an override, else by its setting.

    Raises SettingsError for invalid periods of projects.
    """
    stored = settings.model_dump()
    days = {kind: stored[f"keep_{kind.replace('-', '_')}_days"] for kind in RetentionClass}
    chosen = days | dict(overrides or {})
    return RetentionPolicy(
        {kind: count for kind, count in chosen.items() if count is not None},
        read_own_periods(settings.keep_of_projects),
    )


def read_own_periods(text: str) -> dict[str, dict[RetentionClass, int | None]]:
    """Return the periods of `octo/models:bundles=400,samples=ever octo/other:branch=90`.

    Raises SettingsError.
    """
    if len(text) > MAX_CHARACTERS:
        msg = f"{SETTING} has more than {MAX_CHARACTERS:,} characters: name fewer projects"
        raise SettingsError(msg)
    projects: dict[str, dict[RetentionClass, int | None]] = {}
    for entry in text.split():
        repository, _, periods = entry.rpartition(":")
        owner, _, name = repository.partition("/")
        if not owner or not name or repository.lower() in projects:
            raise _invalid(entry)
        days_of: dict[RetentionClass, int | None] = {}
        for period in periods.split(","):
            kind, _, days = period.partition("=")
            if kind not in UPLOAD_CLASSES or kind in days_of:
                raise _invalid(entry)
            days_of[RetentionClass(kind)] = _days(days, entry)
        projects[repository.lower()] = days_of
    return projects


def check_projects(policy: RetentionPolicy, repositories: Iterable[str]) -> None:
    """Raise SettingsError if a project with its own periods does not exist.

    It may have been renamed: the general periods could remove more of it than was meant.
    """
    unknown = sorted(set(policy.projects) - {one.lower() for one in repositories})
    if unknown:
        msg = (
            f"{SETTING} names {', '.join(unknown)}, which is not a project here: nothing is "
            "removed until the entry has the project's current name, or is removed"
        )
        raise SettingsError(msg)


def own_periods(
    projects: Mapping[str, Mapping[RetentionClass, int | None]],
) -> tuple[OwnPeriod, ...]:
    """Return each period that a project has of its own."""
    return tuple(
        OwnPeriod(repository=repository, kind=kind, kept_days=days)
        for repository, periods in sorted(projects.items())
        for kind, days in periods.items()
    )


def _days(text: str, entry: str) -> int | None:
    if text == FOR_EVER:
        return None
    is_count = text.isascii() and text.isdigit() and len(text) <= len(str(MAX_DAYS))
    if not is_count or not MIN_DAYS <= int(text) <= MAX_DAYS:
        raise _invalid(entry)
    return int(text)


def _invalid(entry: str) -> SettingsError:
    return SettingsError(
        f"{SETTING} has {entry[:80]!r}: write OWNER/NAME:CLASS=DAYS,CLASS=DAYS once for each "
        f"project, with {MIN_DAYS} to {MAX_DAYS:,} days or {FOR_EVER!r}; classes are "
        f"{', '.join(UPLOAD_CLASSES)}"
    )

"""Marks the lines of profiles that head changed."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from perfledger.profile import CallingLine, Profile
from perfledger.records import Side
from perfledger_runners.measuring.profile_runs import ProfileRuns


def mark_changed_lines(
    runs: ProfileRuns, changed_lines: Callable[[str], Sequence[range]]
) -> ProfileRuns:
    """Return the profiles; in head's, each calling line says whether head changed it.

    `changed_lines` returns the lines of a file that head changed.
    """
    return replace(
        runs,
        profiles=tuple(
            _profile_with_marks(profile, changed_lines) if profile.side is Side.HEAD else profile
            for profile in runs.profiles
        ),
    )


def _profile_with_marks(
    profile: Profile, changed_lines: Callable[[str], Sequence[range]]
) -> Profile:
    paths = {line.path for operation in profile.operations for line in operation.lines}
    paths |= {line.path for tensors in profile.peak_tensors for line in tensors.lines}
    paths |= {line.path for compilation in profile.compilations for line in compilation.lines}
    changed = {path: changed_lines(path) for path in sorted(paths)}

    def marked(lines: Sequence[CallingLine]) -> tuple[CallingLine, ...]:
        return tuple(
            replace(line, is_changed=any(line.line in one for one in changed[line.path]))
            for line in lines
        )

    return replace(
        profile,
        operations=tuple(replace(one, lines=marked(one.lines)) for one in profile.operations),
        compilations=tuple(replace(one, lines=marked(one.lines)) for one in profile.compilations),
        peak_tensors=tuple(replace(one, lines=marked(one.lines)) for one in profile.peak_tensors),
    )

"""Finds the control groups of this process (cgroup v1 and v2), and reads what memory they may use.

A container sees its own group, or the host's groups and the path of its own; each group above may
limit it further.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from perfledger_runners.proc_files import THIS_SYSTEM, ProcFiles, count, read_text

# Of version 1, where a group may use all memory: the largest multiple of a page is more than this.
ANY_MEMORY = 2**62
FILE_CACHES = ("active_file", "inactive_file")  # of memory.stat; version 1 sums them as total_*
# Of /proc/PID/mountinfo: proc_pid_mountinfo(5). Optional fields end with a dash.
ROOT_FIELD, POINT_FIELD = 3, 4
OPTIONS_AFTER_DASH = 3
MAX_DEPTH = 64  # of nested groups


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupHierarchy:
    """A mounted hierarchy of groups: those of this process, its own first."""

    is_unified: bool  # version 2, which has all controllers that no other hierarchy has
    controllers: frozenset[str]  # of version 1
    folders: tuple[Path, ...]

    def has(self, controller: str) -> bool:
        """Return whether its groups may limit this resource."""
        return self.is_unified or controller in self.controllers


@dataclass(frozen=True, slots=True)
class GroupMemory:
    """A group's limit on memory in bytes, and what programs use of it without caches of files.

    The kernel gives caches of files back when programs need memory.
    """

    limit: int
    used: int

    @property
    def available(self) -> int:
        """Return the bytes that programs may still use."""
        return min(self.limit, max(self.limit - self.used, 0))


@dataclass(frozen=True, slots=True)
class _Mount:
    """A mounted hierarchy: the group at its root, and where it is mounted."""

    kind: str  # cgroup or cgroup2
    controllers: frozenset[str]
    root: str
    point: Path


def group_hierarchies(files: ProcFiles = THIS_SYSTEM) -> Iterator[GroupHierarchy]:
    """Yield the mounted hierarchies in which this process has a group."""
    groups = _groups(read_text(files.proc / "self/cgroup"))
    for mount in _mounts(read_text(files.proc / "self/mountinfo"), files.sys):
        is_unified = mount.kind == "cgroup2"
        names = sorted(({""} if is_unified else mount.controllers) & groups.keys())
        if names:
            yield GroupHierarchy(
                is_unified=is_unified,
                controllers=mount.controllers,
                folders=tuple(_folders(mount, groups[names[0]])),
            )


def group_memories(files: ProcFiles = THIS_SYSTEM) -> tuple[GroupMemory, ...]:
    """Return the memory of each group of this process that has a limit."""
    memories = (
        _memory(folder)
        for hierarchy in group_hierarchies(files)
        if hierarchy.has("memory")
        for folder in hierarchy.folders
    )
    return tuple(memory for memory in memories if memory is not None)


def _groups(text: str) -> dict[str, str]:
    """Return the path of this process's group by controller; "" is cgroup v2."""
    groups: dict[str, str] = {}
    for line in text.splitlines():
        _, sign, rest = line.partition(":")
        controllers, second, path = rest.partition(":")
        if sign and second:
            groups |= dict.fromkeys(controllers.split(","), path)
    return groups


def _mounts(text: str, sys: Path) -> Iterator[_Mount]:
    for line in text.splitlines():
        before, _, after = line.partition(" - ")
        fields, source = before.split(), after.split()
        if len(fields) <= POINT_FIELD or len(source) < OPTIONS_AFTER_DASH:
            continue
        point = PurePosixPath(fields[POINT_FIELD])
        if source[0] in {"cgroup", "cgroup2"} and point.is_relative_to("/sys"):
            yield _Mount(
                kind=source[0],
                controllers=frozenset(source[2].split(",")),
                root=fields[ROOT_FIELD],
                point=sys / point.relative_to("/sys"),
            )


def _folders(mount: _Mount, group: str) -> Iterator[Path]:
    """Yield the folders of a group and of the groups above it, as far as they are mounted."""
    path, root = PurePosixPath(group), PurePosixPath(mount.root)
    inside = path.relative_to(root) if path.is_relative_to(root) else PurePosixPath()
    parts = () if ".." in inside.parts else inside.parts[:MAX_DEPTH]
    for length in range(len(parts), -1, -1):
        yield mount.point.joinpath(*parts[:length])


def _memory(folder: Path) -> GroupMemory | None:
    """Return the memory of a group; None without a limit."""
    limit = count(read_text(folder / "memory.max") or read_text(folder / "memory.limit_in_bytes"))
    used = count(
        read_text(folder / "memory.current") or read_text(folder / "memory.usage_in_bytes")
    )
    if not limit or limit >= ANY_MEMORY or used is None:
        return None
    fields = dict(
        line.split()[:2]
        for line in read_text(folder / "memory.stat").splitlines()
        if len(line.split()) > 1
    )
    caches = sum(
        count(fields.get(f"total_{name}", fields.get(name, ""))) or 0 for name in FILE_CACHES
    )
    return GroupMemory(limit, used - caches)

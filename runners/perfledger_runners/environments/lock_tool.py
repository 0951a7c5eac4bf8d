"""Lists the tools that install what their lock file pins, and the command of each."""

from collections.abc import Collection
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class LockTool:
    """A tool whose command installs a checkout from its lock file.

    `options` make it leave out no extra and no group. One without `has_project` installs what the
    project needs, and leaves the project itself to pip.
    """

    program: str
    lock: str
    command: str
    options: str
    has_project: bool = True


# The first one that a revision has a lock file of makes its environment. None may install the
# project as editable: its checkout is gone after the check. Poetry can install it only so.
LOCK_TOOLS = (
    LockTool(
        program="uv",
        lock="uv.lock",
        command="uv sync --frozen --no-editable",
        options="--all-extras",
    ),
    LockTool(
        program="poetry",
        lock="poetry.lock",
        command="poetry install --no-interaction --no-root",
        options="--all-extras",
        has_project=False,
    ),
    LockTool(
        program="pdm", lock="pdm.lock", command="pdm sync --no-editable", options="--group :all"
    ),
)


def lock_tool(paths: Collection[str]) -> LockTool | None:
    """Return the tool that makes the environment of a revision with these files, if any."""
    return next((tool for tool in LOCK_TOOLS if tool.lock in paths), None)

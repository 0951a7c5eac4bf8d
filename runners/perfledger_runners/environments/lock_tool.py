"""Lists the tools that install from a lock file, and each one's command."""

import shlex
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from perfledger_runners.children.interpreter import is_conda


@dataclass(frozen=True, slots=True, kw_only=True)
class LockTool:
    """A tool whose command installs a checkout from its lock file.

    `options` make it install all extras and groups. A tool without `has_project` installs what the
    project needs, and leaves the project itself to pip.
    """

    program: str
    lock: str
    command: str
    options: str = ""
    has_project: bool = True


# The first tool whose lock file a revision has makes its environment. None may install the project
# as editable, since its checkout is gone after the check; Poetry can install it only that way.
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

PIXI_LOCK = "pixi.lock"
CONDA_FILES = ("environment.yml", "environment.yaml")
CONDA_LOCKS = (PIXI_LOCK, *CONDA_FILES)
# conda and pixi do not make a virtual environment: theirs replaces it. In a conda environment pip
# sees no virtual environment, and may install what the file lists for it.
CONDA_COMMAND = (
    'rm -rf "$VIRTUAL_ENV" && PIP_REQUIRE_VIRTUALENV=0 '
    'conda env create --quiet --prefix "$VIRTUAL_ENV" --file {file}'
)
PIXI_COMMAND = (
    "pixi install --frozen --environment {name} && "
    'rm -rf "$VIRTUAL_ENV" && ln -s "$PWD"/.pixi/envs/{name} "$VIRTUAL_ENV"'
)


def lock_tool(paths: Collection[str]) -> LockTool | None:
    """Return the tool that makes the environment of a revision with these files, if any."""
    return next((tool for tool in LOCK_TOOLS if tool.lock in paths), None)


def conda_tool(paths: Collection[str], prefix: Path) -> LockTool | None:
    """Return the tool that made the environment at `prefix`, if it is conda or pixi.

    None if these files include none from which the tool makes an environment.
    """
    if prefix.parts[-3:-1] == (".pixi", "envs"):
        command = PIXI_COMMAND.format(name=shlex.quote(prefix.name))
        tool = LockTool(program="pixi", lock=PIXI_LOCK, command=command)
        return tool if tool.lock in paths else None
    file = next((name for name in CONDA_FILES if name in paths), "")
    if not (file and is_conda(prefix)):
        return None
    return LockTool(program="conda", lock=file, command=CONDA_COMMAND.format(file=file))

"""Defines the options of commands that read another tool's history."""

from pathlib import Path
from typing import Annotated

from perfledger_service.cli.option_groups import how

ToolName = Annotated[
    str | None,
    how(
        "the tool that wrote the files, such as asv; usually recognised",
        metavar="TOOL",
        flag="--from",
    ),
]
CloneFolder = Annotated[
    Path | None, how("a full clone whose default branch orders the commits", metavar="FOLDER")
]
OneMachine = Annotated[bool, how("treat another tool's machines as one", flag="--one-machine")]

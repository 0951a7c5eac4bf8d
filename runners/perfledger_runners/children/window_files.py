"""Holds a child's report on the files of its profiled windows."""

from typing import Annotated

from msgspec import Meta, Struct

from perfledger_runners.children.message_texts import NO_CONTROLS, ShortText, Text

MAX_WINDOWS = 100  # a process records three

TracePath = Annotated[str, Meta(max_length=4096, pattern=NO_CONTROLS)]


class WindowFiles(Struct, frozen=True, kw_only=True):
    """The files of profiled windows, or the reason why there are none."""

    tool: ShortText = ""
    traces: Annotated[tuple[TracePath, ...], Meta(max_length=MAX_WINDOWS)] = ()
    reason: Text = ""

"""Shortens a kernel's or an operation's name to fit a line, by dropping C++ parameters."""

import re

# An unnamed namespace is written in brackets, like parameters.
_UNNAMED = "(anonymous namespace)"
# What follows the longest name of a group: "(+9)", "(+9): float became double".
_GROUP = re.compile(r" \(\+[0-9]+\)(?:: .*)?$", re.DOTALL)


def short_name(name: str) -> str:
    """Return the name without a return type of void and without the parameter list.

    Template arguments stay, because they distinguish kernels, and so does what a group's name says
    of the others. A name that is not C++ is unchanged.
    """
    group = _GROUP.search(name)
    suffix = group.group() if group else ""
    shorter = name.removesuffix(suffix).removeprefix("void ")
    end = _parameters_start(shorter)
    is_function = end > 0 and ("::" in shorter[:end] or shorter[end - 1] == ">")
    return (shorter[:end] if is_function else shorter) + suffix


def _parameters_start(name: str) -> int:
    """Return the position of the first bracket outside template arguments, or the end."""
    depth = 0
    for index, character in enumerate(name):
        if character == "(" and depth == 0 and not name.startswith(_UNNAMED, index):
            return index
        if name[index - 1 : index + 1] != "->":
            depth += (character == "<") - (character == ">")
    return len(name)

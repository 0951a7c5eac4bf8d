"""Shortens a kernel's or an operation's name to fit a line, by dropping C++ parameters."""

# An unnamed namespace is written in brackets, like parameters.
_UNNAMED = "(anonymous namespace)"


def short_name(name: str) -> str:
    """Return the name without a return type of void and without the parameter list.

    Template arguments stay, because they distinguish kernels. A name that is not C++ is unchanged.
    """
    shorter = name.removeprefix("void ")
    end = _parameters_start(shorter)
    is_function = end > 0 and ("::" in shorter[:end] or shorter[end - 1] == ">")
    return shorter[:end] if is_function else shorter


def _parameters_start(name: str) -> int:
    """Return the position of the first bracket outside template arguments, or the end."""
    depth = 0
    for index, character in enumerate(name):
        if character == "(" and depth == 0 and not name.startswith(_UNNAMED, index):
            return index
        if name[index - 1 : index + 1] != "->":
            depth += (character == "<") - (character == ">")
    return len(name)

"""Declares arguments and options under the three headings of a help text."""

from collections.abc import Callable
from enum import StrEnum
from functools import partial

import typer
from typer.models import ArgumentInfo, OptionInfo

DAY = "DAY"  # the metavar of options that take a date
_DAY_FORMAT = "%Y-%m-%d"


class OptionGroup(StrEnum):
    """A heading of the help text."""

    WHAT = "What"
    HOW = "How"
    OUTPUT = "Output"


def argument(
    help_text: str,
    *,
    metavar: str,
    default: bool | str = False,
    parser: Callable[[str], str] | None = None,
) -> ArgumentInfo:
    """Declare a positional argument, which is always under "What".

    `default` is shown as its default value; `parser` checks a value.
    """
    info: ArgumentInfo = typer.Argument(
        help=help_text,
        metavar=metavar,
        rich_help_panel=OptionGroup.WHAT,
        show_default=default,
        parser=parser,
    )
    return info


def _option(
    group: OptionGroup,
    help_text: str,
    *,
    metavar: str | None = None,
    flag: str | None = None,
    environment: str | None = None,
    minimum: float | None = None,
    default: bool | str = True,
    parser: Callable[[str], str] | None = None,
) -> OptionInfo:
    """Declare an option.

    A choice has no metavar. A flag is declared by its name, so that it gets no --no- form.
    `default` is shown instead of the default value; `parser` checks a value.
    """
    info: OptionInfo = typer.Option(
        *(() if flag is None else (flag,)),
        help=help_text if environment is None else f"{help_text} (or {environment})",
        metavar=metavar,
        envvar=environment,
        show_envvar=False,
        min=minimum,
        formats=[_DAY_FORMAT] if metavar == DAY else None,
        show_default=default,
        rich_help_panel=group,
        parser=parser,
    )
    return info


# The inputs and their selection.
what = partial(_option, OptionGroup.WHAT)
# The method, prices and limits.
how = partial(_option, OptionGroup.HOW)
# The output and its format.
out = partial(_option, OptionGroup.OUTPUT)

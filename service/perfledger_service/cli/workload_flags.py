"""Defines the options that choose workloads, shared by the commands that have them."""

from typing import Annotated

from perfledger_service.cli.option_groups import what
from perfledger_service.errors import UsageError

Expression = Annotated[
    str,
    what(
        "only workloads whose id or tags match, as in pytest: 'gpt and not slow'",
        metavar="EXPRESSION",
        flag="-k",
    ),
]
AsvSuite = Annotated[bool, what("measure asv's benchmarks (time_*)", flag="--asv")]
PytestSuite = Annotated[bool, what("measure tests with the fixture `benchmark`", flag="--pytest")]


def suite_of(*, is_asv: bool, is_pytest: bool) -> str | None:
    """Return the suite of --asv or --pytest, None without either; raise UsageError for both."""
    if is_asv and is_pytest:
        msg = "--asv and --pytest select different suites: check them one after the other"
        raise UsageError(msg)
    if is_asv:
        return "asv"
    return "pytest" if is_pytest else None

"""Checks the limits on counted work and the options with which a bundle's check was started."""

import re
from collections.abc import Collection

from perfledger.bundle import StartOptions
from perfledger.work_limit import MAX_WORK_LIMITS, parse_work_limit
from perfledger_runners.bundles.value_checks import BundleError, require

MAX_OPTIONS = 100  # patterns of workloads, settings, or names: nobody types more
SETTING = re.compile(r"[a-z][a-z_]{0,39}")  # becomes the name of a variable in a command
OPTION = re.compile(r"-k|--[a-z-]{1,40}|PERFLEDGER_[A-Z_]{1,40}")


def check_start_options(options: StartOptions | None) -> None:
    """Raise BundleError unless the options can be those of a check."""
    if options is None:
        return
    for name, values in (
        ("workloads", options.workloads),
        ("settings", options.settings),
        ("unshown", options.unshown),
    ):
        require(len(values) <= MAX_OPTIONS, f"options.{name}: more than {MAX_OPTIONS}")
    require(all(map(SETTING.fullmatch, options.settings)), "options.settings: no setting's name")
    require(all(map(OPTION.fullmatch, options.unshown)), "options.unshown: no option's name")


def check_work_limits(limits: Collection[str]) -> None:
    """Raise BundleError unless the limits of `fail_on` can be read."""
    require(len(limits) <= MAX_WORK_LIMITS, f"fail_on: more than {MAX_WORK_LIMITS}")
    try:
        for limit in limits:
            parse_work_limit(limit)
    except ValueError as error:
        msg = f"fail_on: {error}"
        raise BundleError(msg) from error

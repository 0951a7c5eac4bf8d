"""Holds the options that a check is repeated with."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Self

from perfledger.bundle import Bundle
from perfledger.records import Param

# How settings in force say that a value is not set.
_NO_VALUE = "(none)"
# What a bundle that does not record how its check was started is repeated with, and the values
# that are the usual ones. A configuration file may have given them: to repeat it changes nothing.
_USUAL_VALUES = {
    "build": ("",),
    "device": ("", "auto"),
    "isolated": ("", "false"),
    "suite": ("", "perfledger"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckOptions:
    """Options that decide what a check measures, where, how long, and in which environments.

    `settings` are those of the command line and the environment, by name: the repeated check reads
    the same configuration file. `unshown` names the options that a bundle must not hold.
    """

    workloads_from: str = ""
    workloads: tuple[str, ...] = ()  # patterns
    expression: str = ""  # of -k
    spreads: str = ""  # a file
    settings: Mapping[str, str] = field(default_factory=dict[str, str])
    unshown: tuple[str, ...] = ()

    @classmethod
    def of_bundle(cls, bundle: Bundle) -> Self:
        """Return the options of the check that wrote the bundle."""
        source = "" if bundle.laid_over is None else bundle.laid_over.source
        options = bundle.options
        if options is None:
            return cls.from_settings(bundle.settings, workloads_from=source)
        return cls(
            workloads_from=source,
            workloads=options.workloads,
            expression=options.expression,
            spreads=options.spreads,
            settings=options.settings,
            unshown=options.unshown,
        )

    @classmethod
    def from_settings(cls, settings: Mapping[str, Param], *, workloads_from: str) -> Self:
        """Return the options of the settings in force, whichever source they have."""
        texts = {name: _variable_text(settings.get(name, "")) for name in _USUAL_VALUES}
        return cls(
            workloads_from=workloads_from,
            settings={
                name: text for name, text in texts.items() if text not in _USUAL_VALUES[name]
            },
        )


def _variable_text(value: Param) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


NO_OPTIONS = CheckOptions()


@dataclass(frozen=True, slots=True)
class TimeBudget:
    """The limit of a check's time, and its settings; None: unknown, or money limits it too."""

    seconds: float | None = None
    settings: tuple[str, ...] = ("budget",)

    @classmethod
    def of_settings(cls, settings: Mapping[str, Param]) -> Self:
        """Return the limit of the settings in force."""
        if settings.get("budget_usd", _NO_VALUE) != _NO_VALUE:
            return cls(settings=("budget", "budget_usd"))
        seconds = settings.get("budget")
        return cls(float(seconds) if isinstance(seconds, int | float) else None)


UNKNOWN_BUDGET = TimeBudget()

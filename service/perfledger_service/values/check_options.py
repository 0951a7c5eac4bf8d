"""Holds the options that a check is repeated with."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

from perfledger.bundle import Bundle
from perfledger.records import Param


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckOptions:
    """Options that decide what a check measures, where, and in which environments.

    A setting counts as an option even if a configuration file gave it: a bundle does not record
    which did, and an option that repeats the file changes nothing.
    """

    workloads_from: str = ""
    suite: str = ""
    device: str = ""
    build: str = ""
    is_isolated: bool = False  # a separate environment for each side

    @classmethod
    def of_bundle(cls, bundle: Bundle) -> Self:
        """Return the options of the check that wrote the bundle."""
        source = "" if bundle.laid_over is None else bundle.laid_over.source
        return cls.from_settings(bundle.settings, workloads_from=source)

    @classmethod
    def from_settings(cls, settings: Mapping[str, Param], *, workloads_from: str) -> Self:
        """Return the options of the settings in force, by their names."""
        return cls(
            workloads_from=workloads_from,
            suite=str(settings.get("suite", "")),
            device=str(settings.get("device", "")),
            build=str(settings.get("build", "")),
            is_isolated=settings.get("isolated") is True,
        )


NO_OPTIONS = CheckOptions()

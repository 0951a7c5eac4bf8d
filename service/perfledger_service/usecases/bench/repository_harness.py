"""Prepares the harness that runs code with a repository's own Python."""

import os
from contextlib import AbstractContextManager
from pathlib import Path

from perfledger_runners.children.harness import ChildLimits, Harness, prepare_harness
from perfledger_runners.children.interpreter import find_python
from perfledger_service.settings.check import CheckSettings


def repository_harness(
    root: Path, settings: CheckSettings, *, launch: str = ""
) -> AbstractContextManager[Harness]:
    """Return a context of the harness that the settings describe; it removes its folder at the end.

    `launch` starts the ranks of workloads on several devices that have no command of their own.
    """
    return prepare_harness(
        find_python(root, settings.python),
        environment=os.environ,
        variable_names=settings.env,
        sandbox=settings.sandbox,
        limits=ChildLimits(workload_s=settings.timeout, startup_s=settings.timeout),
        default_launch=launch,
    )

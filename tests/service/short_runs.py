"""Checks that measure for a twentieth of the usual time, for tests that need few or large steps.

They look at the machine itself for a fifth of the usual time.

As a program it is the command line of perfledger: for tests that end a check from outside.
"""

from collections.abc import Generator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from unittest.mock import patch

from perfledger.protocol import MeasuringEffort
from perfledger_runners.machine import core_speed, host_load
from perfledger_service.__main__ import main
from perfledger_service.usecases.bench import doctor
from perfledger_service.usecases.check import child_requests

PROGRAM = ("-P", str(Path(__file__)))  # without this folder on the path


@contextmanager
def short_runs() -> Generator[None]:
    """Measure for a twentieth of the usual time."""
    brief = partial(MeasuringEffort, min_seconds=0.025, max_seconds=0.1)
    small_step = doctor.BUILT_IN_STEP.replace("range(200_000)", "range(10_000)")
    with (
        patch.multiple(child_requests, MeasuringEffort=brief, INTERLEAVED_SECONDS=0.04),
        patch.object(doctor, "BUILT_IN_STEP", small_step),
        patch.object(host_load, "WINDOW_S", 0.1),
        patch.dict(core_speed.read_core_speed.__kwdefaults__, seconds=0.1),
    ):
        yield


if __name__ == "__main__":
    with short_runs():
        main()

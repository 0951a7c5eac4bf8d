"""Estimates the step time if parts of the step were faster."""

from collections.abc import Mapping
from pathlib import Path

from perfledger.records import Side
from perfledger_profiles.bottleneck import whatif
from perfledger_profiles.bottleneck.whatif import WhatIf, WhatIfError
from perfledger_profiles.parsing.device_choice import ANY_DEVICE, DeviceChoice
from perfledger_service.errors import UsageError
from perfledger_service.rendering.layout.escape import clean
from perfledger_service.usecases.inputs.history_sources import display_name
from perfledger_service.usecases.trace.profile_files import read_profile_file


def what_if(
    path: Path, *, changes: Mapping[str, float], choice: DeviceChoice = ANY_DEVICE
) -> WhatIf:
    """Return a file's step time with each named part the given number of times faster.

    Raises NotFoundError and UsageError.
    """
    name = display_name(path)
    profile = read_profile_file(path, workload=name, side=Side.HEAD, choice=choice)
    try:
        return whatif.what_if(profile, changes=changes)
    except WhatIfError as error:
        msg = f"{name}: {clean(str(error), limit=400)}"
        raise UsageError(msg) from error

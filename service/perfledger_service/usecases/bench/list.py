"""Lists the workloads that a repository registers."""

import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from perfledger.records import WorkloadSpec
from perfledger_runners.checkouts.repository import Repository
from perfledger_runners.children.harness import prepare_harness
from perfledger_runners.children.interpreter import find_python
from perfledger_runners.measuring.discovery import Discovery, discover
from perfledger_service.settings.sources import check_settings
from perfledger_service.usecases.check.child_requests import request_for
from perfledger_service.usecases.check.workloads.chosen_files import discover_chosen
from perfledger_service.usecases.inputs.error_translation import translate_errors
from perfledger_service.usecases.inputs.repository_config import configured_table
from perfledger_service.usecases.inputs.workload_choice import WorkloadChoice


def list_workloads(
    folder: Path,
    choice: WorkloadChoice,
    *,
    flags: Mapping[str, object],
    stage: Callable[[str], None],
) -> Discovery:
    """Return the chosen workloads that the working folder currently registers."""
    with translate_errors():
        repository = Repository.open(folder)
        name, table = configured_table(repository.root) or ("", None)
        settings, _ = check_settings(flags=flags, table=table, table_name=name)
        with prepare_harness(
            find_python(repository.root, settings.python),
            environment=os.environ,
            variable_names=settings.env,
            sandbox=settings.sandbox,
        ) as harness:
            stage("finding workloads")
            request = request_for(repository.root, repository.root, settings)
            (discovery,) = discover_chosen(
                (request,),
                choice,
                lambda listed: (discover(harness, replace(request, listed_files=listed)),),
            )
    workloads = tuple(filter(choice.is_chosen, discovery.workloads))
    left_out = {
        name: why
        for name, why in discovery.left_out.items()
        if choice.is_chosen(WorkloadSpec(id=name, module="", function=""))
    }
    return replace(discovery, workloads=workloads, left_out=left_out)

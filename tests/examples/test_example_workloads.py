"""The example repository's configuration is accepted, and its workloads run, in real children."""

import os
import tomllib
from contextlib import closing
from pathlib import Path

import pytest

from perfledger.protocol import ChildRequest, Command, MeasuringEffort
from perfledger.records import Framework
from perfledger_runners.children.child_process import run_request
from perfledger_runners.children.harness import prepare_harness
from perfledger_runners.children.interpreter import find_python
from perfledger_runners.children.protocol_parser import FailedMessage, RunMessage
from perfledger_runners.measuring.discovery import discover
from perfledger_service.settings.sources import check_settings, file_table

ONE_STEP = MeasuringEffort(
    min_steps=1, max_steps=1, min_seconds=0.0, max_seconds=0.1, min_warmups=1, max_warmups=1
)
SMALL = {
    "benchmarks.torch_gpt:train_step": {"context": (16,), "width": (16,)},
    "benchmarks.torch_resnet:inference": {"batch": (1,), "size": (8,), "width": (4,)},
    "benchmarks.jax_transformer:train_step": {"context": (8,), "width": (16,)},
    "benchmarks.jax_attention:inference": {"length": (8,), "width": (16,)},
}


def settings_of(examples):
    content = (examples / "repository" / "pyproject.toml").read_bytes()
    return check_settings(
        flags={}, table=file_table("pyproject.toml", content), table_name="pyproject.toml"
    )[0]


def test_the_margin_is_declared_and_the_money_is_marked_as_an_illustration(examples):
    settings = settings_of(examples)

    assert (settings.margin, settings.floor) == (0.10, 0.05)
    sources = [entry.source for entry in (*settings.fleet, *settings.declared)]
    assert sources
    assert all("for illustration" in source for source in sources)


def test_the_readme_of_the_example_names_every_workload(examples):
    readme = (examples / "repository" / "README.md").read_text(encoding="utf-8")

    assert [workload for workload in SMALL if f"`{workload}`" not in readme] == []


def test_the_settings_that_the_readme_shows_are_accepted(examples):
    readme = (examples / "repository" / "README.md").read_text(encoding="utf-8")
    partition = readme.partition("```toml\n")[2].partition("```")[0]

    settings, _ = check_settings(
        flags={}, table=tomllib.loads(partition)["tool"]["perfledger"], table_name="README.md"
    )

    assert settings.params["benchmarks.torch_gpt:train_step"]["batch"] == (16, 64)


@pytest.mark.slow(ci_only=True)
@pytest.mark.torch
def test_four_workloads_are_registered_and_each_runs(examples):
    root = examples / "repository"
    request = ChildRequest(command=Command.LIST, root=str(root), repository=str(root), params=SMALL)

    with prepare_harness(find_python(Path(root), ""), environment=os.environ) as harness:
        discovery = discover(harness, request)
        measured = _measured(harness, request, discovery.workloads)

    assert discovery.broken == ()
    frameworks = {spec.id.partition("[")[0]: spec.framework for spec in discovery.workloads}
    assert frameworks == {
        workload: Framework.TORCH if "torch" in workload else Framework.JAX for workload in SMALL
    }
    assert {spec.unit for spec in discovery.workloads} == {"tokens", "images"}
    assert measured == {spec.id for spec in discovery.workloads}


def _measured(harness, request, specs):
    """Take one step of every workload, those of a framework in a child together."""
    ran = set()
    for framework in (Framework.TORCH, Framework.JAX):
        chosen = [spec.id for spec in specs if spec.framework is framework]
        with closing(run_request(harness, _one_step(request, chosen))) as messages:
            for message in messages:
                assert not isinstance(message, FailedMessage), message
                if isinstance(message, RunMessage):
                    ran.add(message.workload)
    return ran


def _one_step(request, workloads):
    return ChildRequest(
        command=Command.MEASURE,
        root=request.root,
        repository=request.repository,
        params=request.params,
        workloads=tuple(workloads),
        device="cpu",
        effort=ONE_STEP,
    )

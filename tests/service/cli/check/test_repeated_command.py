"""The command at the end of a report repeats the check: the same workloads and settings."""

import os
import re
import shlex
from dataclasses import fields, replace

import pytest
from hypothesis import given, strategies as st

from perfledger.records import Revision
from perfledger_service.cli.check.check import ChangeFlags, MeasuringFlags, check
from perfledger_service.cli.command import typer_command
from perfledger_service.rendering.layout.check_command import check_words, missing_options
from perfledger_service.settings.check import NOT_MEASURED
from perfledger_service.settings.sources import check_settings, start_settings
from perfledger_service.usecases.check.check import start_options
from perfledger_service.usecases.check.measurement import CheckRequest
from perfledger_service.usecases.check.revisions import CheckConfiguration
from perfledger_service.usecases.inputs.workload_choice import WorkloadChoice
from perfledger_service.values.check_options import CheckOptions

BASE, HEAD = Revision(sha="a" * 40), Revision(sha="b" * 40)
LINES = st.text(st.characters(codec="ascii", categories=("L", "N", "P", "S")), min_size=1)
FLAGS = {
    "device": ("auto", "cpu"),
    "budget": ("7m", "90s"),
    "budget_usd": ("2", "0.5"),
    "device_price": ("2.5", "p5.48xlarge/on_demand"),
    "build": ("pip install '.[all]'", "make -j2"),
    "isolated": (True,),
    "skip": (False,),
    "suite": ("asv", "pytest"),
}
VARIABLES = {
    "device": ("cpu", "auto"),
    "budget": ("3m", "0.5h"),
    "budget_usd": ("1.5",),
    "build": ("", "make"),
    "isolated": ("1", "false", "TRUE"),
    "skip": ("0", "true"),
    "suite": ("perfledger", "asv"),
    "margin": ("0.05",),
    "max_pairs": ("30",),
    "metrics": ('["cold_start", "kernels"]', "[]"),
    "paths": ('["my work", "b"]',),
    "params": ('{"m:f": {"batch": [1, 2]}}',),
    "python": ("/opt/my python/bin/python",),
    "timeout": ("20s",),
    "undecided": ("neutral",),
    "lock_folder": ("/var/lock",),
    "fleet": ("[]",),
}
LONG = ("build", "cores", "env", "paths", "python", "suite")  # too long together
TABLES = (
    {},
    {"isolated": True, "skip": False, "margin": 0.1, "budget": "1m"},
    {"suite": "asv", "paths": ["work"], "build": "tox"},
)


def chosen(values):
    """A strategy for some of these names, each with one of its values."""
    return st.fixed_dictionaries(
        {}, optional={name: st.sampled_from(each) for name, each in values.items()}
    )


def settings_of(flags, variables, table):
    with pytest.MonkeyPatch.context() as patch:
        for name in [name for name in os.environ if name.startswith("PERFLEDGER_")]:
            patch.delenv(name)
        for name, text in variables.items():
            patch.setenv(name, text)
        settings, _ = check_settings(flags=flags, table=table, table_name="perfledger.toml")
        return settings, start_settings(flags, settings)


def typed(words):
    """Return the variables, the flags and the request of a command, as the program reads them."""
    parts = shlex.split(" ".join(words))
    start = parts.index("perfledger")
    variables = dict(part.split("=", maxsplit=1) for part in parts[:start])
    assert parts[start + 1] == "check"
    values = typer_command("check", check).make_context("check", parts[start + 2 :]).params
    change, measuring = (
        kind(**{each.name: values[each.name] for each in fields(kind) if each.name in values})
        for kind in (ChangeFlags, MeasuringFlags)
    )
    return variables, {**change.settings, **measuring.settings}, change.request, measuring.spreads


def measured(settings):
    return settings.model_dump(exclude=set(NOT_MEASURED))


@given(
    sources=st.tuples(chosen(FLAGS), chosen(VARIABLES), st.sampled_from(TABLES)),
    choice=st.builds(
        WorkloadChoice,
        globs=st.lists(LINES, max_size=3).map(tuple),
        expression=st.sampled_from(["", "gpt and  not slow", "a or (b)"]),
    ),
    workloads_from=st.sampled_from(["", "v1.0", "my folder"]),
    keeps_variables=st.booleans(),
)
def test_a_command_of_any_options_repeats_what_was_measured(
    sources, choice, workloads_from, keeps_variables
):
    flags, variables, table = sources
    exported = {f"PERFLEDGER_{name.upper()}": text for name, text in variables.items()}
    settings, start = settings_of(flags, exported, table)
    request = CheckRequest(choice=choice, workloads_from=workloads_from)
    configuration = CheckConfiguration(
        settings=settings, base_file="perfledger.toml", notes=(), start_settings=start
    )
    recorded = start_options(request, configuration, history=None)
    options = CheckOptions(
        workloads_from=workloads_from,
        workloads=recorded.workloads,
        expression=recorded.expression,
        settings=recorded.settings,
        unshown=recorded.unshown,
    )

    words = check_words(BASE, HEAD, options)

    assert missing_options(options, has_workloads=False) == ()
    again, again_flags, again_request, spreads = typed(words)
    again_settings, _ = settings_of(
        again_flags, (exported if keeps_variables else {}) | again, table
    )
    assert measured(again_settings) == measured(settings)
    assert again_request.choice.globs == choice.globs
    assert again_request.choice.expression.split() == choice.expression.split()
    assert (again_request.workloads_from, spreads) == (workloads_from, None)


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"settings": {"build": "make\nmake install"}}, "PERFLEDGER_BUILD"),
        ({"workloads": ("b:f\u202e",)}, "--workload"),
        ({"workloads": ("b:f",) * 300}, "--workload"),
        ({"expression": "x" * 301}, "-k"),
        ({"spreads": "a\u200bb"}, "--spreads"),
        ({"workloads_from": "a\tb"}, "--workloads-from"),
        ({"unshown": ("PERFLEDGER_PYTHON",)}, "PERFLEDGER_PYTHON"),
        (
            {"settings": dict.fromkeys(LONG, "x" * 290)},
            "PERFLEDGER_SUITE",
        ),
    ],
)
def test_an_option_that_cannot_be_typed_is_named(change, name):
    options = replace(CheckOptions(), **change)

    words = " ".join(check_words(BASE, HEAD, options))

    assert name in missing_options(options, has_workloads=False)
    assert not re.search(rf"(^| ){re.escape(name)}[ =]", words)

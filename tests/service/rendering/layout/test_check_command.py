import shlex
from dataclasses import replace

import pytest

from perfledger.metrics import STEP_TIME
from perfledger.records import Failure, FailureReason, Side
from perfledger.registration.workload_pattern import is_match
from perfledger_baselines.judging.verdict import Outcome
from perfledger_service.rendering.layout.check_command import (
    BISECT_FLAGS,
    check_words,
    command_words,
    is_typable,
    reproduction,
    unreached_command,
)
from perfledger_service.values.check_options import CheckOptions


def test_uncommitted_changes_are_measured_in_the_working_folder(reports):
    base, head = reports["regressed"].base, reports["regressed"].head

    assert check_words(base, head, CheckOptions()) == (
        "perfledger check --base 8c1f0a2b3c4d --head d41e7b9a0c2f",
    )
    dirty = replace(head, is_dirty=True)
    assert check_words(base, dirty, CheckOptions()) == ("perfledger check --base 8c1f0a2b3c4d",)


def test_a_command_that_would_name_many_workloads_names_none(reports, make):
    report = reports["regressed"]
    specs = tuple(replace(make.SPECS[0], id=f"b.m{number}:f") for number in range(5))
    verdicts = tuple(
        make.verdict(spec.id, make.STEP_TIME, Outcome.NOT_MEASURED, None) for spec in specs
    )

    few = reproduction(replace(report, workloads=specs, verdicts=verdicts[:1]))
    many = reproduction(replace(report, workloads=specs, verdicts=verdicts))

    assert few == "perfledger check --base 8c1f0a2b3c4d --head d41e7b9a0c2f --workload b.m0:f"
    assert many == "perfledger check --base 8c1f0a2b3c4d --head d41e7b9a0c2f"


def test_a_command_names_what_one_side_alone_registers_but_no_file(reports, make):
    def command(*names):
        verdicts = tuple(
            make.verdict(name, make.STEP_TIME, Outcome.NOT_MEASURED, None) for name in names
        )
        return reproduction(replace(reports["regressed"], workloads=(), verdicts=verdicts))

    assert command("b:gone").endswith("--workload b:gone")
    assert "--workload" not in command("b:gone", "benchmarks/b.py")


def test_a_command_names_a_workload_by_its_whole_id_or_not_at_all(reports, make):
    report = reports["regressed"]
    spec = make.SPECS[0]

    def command(name):
        verdict = make.verdict(name, make.STEP_TIME, Outcome.NOT_MEASURED, None)
        workloads = (replace(spec, id=name),)
        return reproduction(replace(report, workloads=workloads, verdicts=(verdict,)))

    assert command("b:f[batch=8]").endswith("--workload 'b:f[batch=8]'")
    assert "--workload" not in command("b:" + "f" * 300)
    assert "--workload" not in command("b:f\u202e")


def test_a_long_command_goes_on_in_the_next_line_and_is_the_same_to_a_shell(reports, make):
    specs = tuple(
        replace(make.SPECS[0], id=f"benchmarks.m{number}:f[x='1']") for number in range(3)
    )
    verdicts = tuple(
        make.verdict(spec.id, make.STEP_TIME, Outcome.NOT_MEASURED, None) for spec in specs
    )

    command = reproduction(replace(reports["regressed"], workloads=specs, verdicts=verdicts))

    assert len(command.splitlines()) == 4
    assert shlex.split(command.replace("\\\n", ""))[6:] == [
        word for spec in specs for word in ("--workload", spec.id)
    ]


def test_a_command_of_some_of_the_workloads_says_so(reports, make):
    changed = make.verdict(make.RESNET, STEP_TIME, Outcome.REGRESSED, (1.0, 1.2))
    same = make.verdict(make.GPT, STEP_TIME, Outcome.UNCHANGED, (1.0, 1.0))
    report = replace(reports["no_price"], verdicts=(changed, same))

    sentence, *command = reproduction(report).splitlines()

    assert sentence == "# only the workloads that are not unchanged"
    assert make.RESNET in command[-1]
    assert not reproduction(replace(report, verdicts=(changed,))).startswith("#")


def test_the_options_of_a_check_are_those_of_its_command(reports):
    options = CheckOptions(
        workloads_from="my work",
        spreads="spreads.json",
        settings={
            "suite": "asv",
            "device": "cpu",
            "build": "pip install '.[all]'",
            "isolated": "true",
            "skip": "false",
            "budget": "20m",
            "margin": "0.05",
            "metrics": '["cold_start"]',
        },
    )

    command = reproduction(replace(reports["regressed"], options=options))

    words = shlex.split(command.replace("\\\n", ""), comments=True)
    assert words[:2] == ["PERFLEDGER_MARGIN=0.05", 'PERFLEDGER_METRICS=["cold_start"]']
    assert words[words.index("d41e7b9a0c2f") + 1 : words.index("--workload")] == [
        *("--workloads-from", "my work", "--spreads", "spreads.json"),
        *("--build", "pip install '.[all]'"),
        *("--device", "cpu"),
        *("--isolated", "--asv", "--no-skip"),
        *("--budget", "20m"),
    ]


def test_a_setting_without_an_option_is_a_variable_in_front_of_the_command():
    options = CheckOptions(
        settings={"isolated": "false", "skip": "true", "suite": "perfledger", "build": ""}
    )

    assert command_words("perfledger check", options) == (
        *("PERFLEDGER_ISOLATED=false", "PERFLEDGER_SKIP=true", "PERFLEDGER_SUITE=perfledger"),
        "perfledger check",
        "--build ''",
    )


def test_a_command_with_fewer_options_gets_the_others_as_variables():
    options = CheckOptions(spreads="f", settings={"skip": "false", "suite": "asv", "budget": "9m"})

    assert command_words("perfledger history bisect", options, flags=BISECT_FLAGS) == (
        *("PERFLEDGER_BUDGET=9m", "PERFLEDGER_SKIP=false"),
        "perfledger history bisect",
        "--asv",
    )


def test_a_command_of_all_workloads_has_the_checks_own_choice(reports):
    options = CheckOptions(workloads=("b:*",), expression="gpt and not slow")
    report = replace(reports["regressed"], options=options)

    unchanged = reproduction(replace(report, verdicts=()))

    assert unchanged.endswith("--workload 'b:*' \\\n  -k 'gpt and not slow'")
    assert "-k" not in reproduction(report)  # it names what regressed


def test_what_the_command_lacks_stands_above_it(reports):
    options = CheckOptions(settings={"build": "make\nmake install"}, unshown=("--workload",))
    report = replace(reports["regressed"], options=options)

    assert reproduction(report).splitlines()[0] == (
        "# give it the same PERFLEDGER_BUILD, which cannot be shown here"
    )
    assert reproduction(replace(report, verdicts=())).splitlines()[0] == (
        "# give it the same --workload, PERFLEDGER_BUILD, which cannot be shown here"
    )


@pytest.mark.parametrize(
    ("text", "is_whole"),
    [("b:f[x='a b']", True), ("b:f\u202e", False), ("f" * 300, True), ("f" * 301, False)],
)
def test_a_text_is_typed_whole_or_not_at_all(text, is_whole):
    assert is_typable(text) is is_whole


NAMES = tuple(
    f"{module}:{function}{params}"
    for module in ("bench.a", "bench.b")
    for function in ("f", "g", "gg")
    for params in ("[n=1]", "[n=2]", "")
)


@pytest.fixture
def beyond_budget(reports, make):
    """Return a function that returns the command for workloads that the budget did not reach."""

    def command(names, *, registered=NAMES, options=None):
        report = replace(
            reports["regressed"],
            options=options or CheckOptions(),
            workloads=tuple(replace(make.SPECS[0], id=name) for name in registered),
            failures=tuple(
                Failure(workload=name, side=Side.HEAD, why=FailureReason.BUDGET, detail="spent")
                for name in names
            ),
        )
        return unreached_command(report)

    return command


@pytest.mark.parametrize(
    ("names", "patterns"),
    [
        (NAMES[9:], ["bench.b:*"]),
        (NAMES[:2], ["bench.a:f[*"]),
        (NAMES[:3], ["bench.a:f", "bench.a:f[*"]),
        (NAMES[3:5], ["bench.a:g[*"]),  # and not those of gg
        ((NAMES[0],), ["bench.a:f[n=1]"]),
        (NAMES[8:], ["bench.a:gg", "bench.b:*"]),
    ],
)
def test_what_the_budget_did_not_reach_is_measured_alone_by_one_command(
    beyond_budget, names, patterns
):
    words = shlex.split(beyond_budget(names))
    chosen = [word for word, option in zip(words[1:], words, strict=False) if option[:4] == "--wo"]

    assert chosen == patterns
    assert {name for name in NAMES if any(is_match(each, name) for each in chosen)} == set(names)


def test_benchmarks_of_one_class_have_one_pattern(beyond_budget):
    names = tuple(f"bench.a:{name}" for name in ("Text.f", "Text.g[n=1]", "Text.gg", "Wide.f"))

    command = beyond_budget(names[:3], registered=names)

    assert command.endswith("--workload 'bench.a:Text.*'")


def test_without_a_short_command_for_just_these_there_is_none(beyond_budget):
    many = tuple(f"bench.m{number}:f" for number in range(26))
    chosen = CheckOptions(expression="f")

    assert beyond_budget(()) == ""
    assert beyond_budget(("bench/a.py",)) == ""
    assert beyond_budget(many[::2], registered=many) == ""
    assert "bench.b:*" not in beyond_budget(NAMES[9:], options=chosen)  # it left others out
    assert "-k" not in beyond_budget(NAMES[9:], options=chosen)

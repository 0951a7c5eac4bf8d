import re

import pytest

from perfledger.bundle import StartOptions
from perfledger_runners.bundles.option_checks import (
    MAX_OPTIONS,
    check_start_options,
    check_work_limits,
)
from perfledger_runners.bundles.value_checks import BundleError

MOST = tuple(f"b:f{number}" for number in range(MAX_OPTIONS))


@pytest.mark.parametrize(
    "options",
    [
        None,
        StartOptions(),
        StartOptions(workloads=MOST, expression="a and not b", spreads="s.json"),
        StartOptions(settings={"max_pairs": "30", "env": '["A"]'}),
        StartOptions(unshown=("-k", "--workload", "--workloads-from", "PERFLEDGER_MAX_PAIRS")),
    ],
)
def test_the_options_of_a_check_are_accepted(options):
    check_start_options(options)


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (StartOptions(workloads=(*MOST, "b:g")), "options.workloads: more than 100"),
        (StartOptions(settings={f"a{'b' * n}": "" for n in range(101)}), "options.settings: more"),
        (StartOptions(unshown=("-k",) * 101), "options.unshown: more than 100"),
        (StartOptions(settings={"": "1"}), "options.settings: no setting's name"),
        (StartOptions(settings={"a b": "1"}), "options.settings: no setting's name"),
        (StartOptions(settings={"x=1 rm": "1"}), "options.settings: no setting's name"),
        (StartOptions(settings={"MARGIN": "1"}), "options.settings: no setting's name"),
        (StartOptions(settings={"a" * 41: "1"}), "options.settings: no setting's name"),
        (StartOptions(unshown=("$(id)",)), "options.unshown: no option's name"),
        (StartOptions(unshown=("--a\n",)), "options.unshown: no option's name"),
    ],
)
def test_what_no_command_line_has_is_refused(options, complaint):
    with pytest.raises(BundleError, match=re.escape(complaint)):
        check_start_options(options)


def test_limits_on_work_are_read_or_refused():
    check_work_limits(("flops > 5 %",) * 20)

    with pytest.raises(BundleError, match="fail_on: more than 20"):
        check_work_limits(("flops > 5 %",) * 21)
    with pytest.raises(BundleError, match="fail_on: 'flops < 5 %' is not a limit"):
        check_work_limits(("flops < 5 %",))

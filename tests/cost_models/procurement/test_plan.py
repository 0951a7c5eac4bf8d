from datetime import date
from decimal import Decimal

import pytest

from perfledger_cost_models.csv_table import SourceConfidence
from perfledger_cost_models.procurement.plan import (
    MAX_CHARACTERS,
    HoursKind,
    ProcurementPlanError,
    own_hardware_inputs,
    read_plan,
)
from perfledger_cost_models.tco.hardware_inputs import packaged_hardware_inputs

INPUT = """
[[input]]
parameter = "{}"
value = {{ low = 1, mode = 2, high = 3, source = "quote" {} }}
"""


SPOT = """
[spot]
interruptions_per_hour = { low = 0, mode = 0, high = 0, source = "a" }
save_h = 0.1
restart_h = 0
fallback = { low = 0, mode = 0, high = 0, source = "a" }
"""


HOLDING = """
[[supply]]
name = "a"
accelerator = "H100-80GB"
devices = 8
is_owned = true
since = 2026-01-01
until = 2027-01-01
usd_per_year = 1
source = "invoice"
"""


@pytest.mark.parametrize("usd", ["0", "0.00", "0.000001"])
def test_a_commitment_at_no_price_is_refused_and_an_old_server_may_cost_nothing(plan_text, usd):
    owned = plan_text + HOLDING.replace("usd_per_year = 1", f"usd_per_year = {usd}")

    assert read_plan(owned, "plan.toml").supply[0].usd_per_year == Decimal(usd)
    with pytest.raises(ProcurementPlanError, match=f"usd_per_year is {usd} for 8 committed devi"):
        read_plan(owned.replace("is_owned = true", "is_owned = false"), "plan.toml")


def test_a_plan_is_read_with_exact_numbers(plan_text):
    plan = read_plan(plan_text, "plan.toml")

    assert str(plan.demand.growth.mode) == "0.1"
    assert plan.demand.hours is not None
    assert plan.demand.hours.mode == 300_000
    assert [option.name for option in plan.option] == ["today", "three years"]


@pytest.mark.parametrize(
    ("before", "after", "says"),
    [
        ("mode = 0.1", "mode = 0.5", "low <= mode <= high"),
        ("low = 0.0", "low = nan", "finite numbers"),
        ("high = 0.3", "high = 1e400", "growth"),
        ("low = 0.5", "low = 0", "commitment_utilization is"),
        ("low = 200000", "low = 0", "hours is"),
        ('source = "made up"', 'basis = "rumour", source = "a"', "measured, quoted or assumed"),
        ('name = "today"', 'name = "three years"', "the same option name"),
        ('name = "today"', 'name = "to\\u202eday"', "characters"),
        ('keep = "p5.48xlarge/on_demand"', 'keep = "p5/on_demand"', "keep is"),
        ("[demand]", "[demand]\nsurprise = 1", "surprise"),
        ('accelerator = "H100-80GB"', "accelerator = 100", "accelerator"),
        ("[demand]", "[demand", "plan.toml"),
    ],
)
def test_a_plan_that_cannot_be_trusted_says_where(plan_text, before, after, says):
    with pytest.raises(ProcurementPlanError, match=says):
        read_plan(plan_text.replace(before, after), "plan.toml")


def test_a_plan_that_is_no_plan_by_its_size_or_depth_is_refused():
    with pytest.raises(ProcurementPlanError, match="below"):
        read_plan("#" * (MAX_CHARACTERS + 1), "plan.toml")
    with pytest.raises(ProcurementPlanError, match=r"plan\.toml"):
        read_plan("a = " + "[" * 5000, "plan.toml")


@pytest.mark.parametrize(
    ("before", "after"),
    [("devices = 8", "devices = 0"), ("2027-01-01", "2025-12-31"), ("year = 1", "year = -1")],
)
def test_supply_that_cannot_be_is_refused(plan_text, before, after):
    with pytest.raises(ProcurementPlanError):
        read_plan(plan_text + HOLDING.replace(before, after), "plan.toml")


@pytest.mark.parametrize(
    "table",
    [
        '[[team]]\nname = "a"\nentitled_hours = -1',
        '[carbon]\nmarket_kg_per_kwh = 5\nsource = "a"',
        "spot = { save_h = 0 }",
        SPOT.replace("save_h = 0.1", "save_h = 0"),
        SPOT.replace("restart_h = 0", "restart_h = 25"),
        "[[speed]]\naccelerator = 'a'\nhours = { low = 0, mode = 1, high = 1, source = 'a' }",
        '[[team]]\nname = "a"\nentitled_hours = 1e13',
        "[forecast]\nfiles = []",
        "[forecast]\nfiles = ['../history.csv']",
        "[forecast]\nfiles = ['a.csv']\nperiods = 0",
        "[forecast]\nfiles = ['a.csv']\nstep = 'year'",
    ],
)
def test_assumptions_that_cannot_be_are_refused(plan_text, table):
    with pytest.raises(ProcurementPlanError):
        read_plan(f"{plan_text}\n{table}", "plan.toml")


@pytest.mark.parametrize("number", ["nan", "inf", "-inf", "9e999999", "-9e999999", "9" * 5000])
@pytest.mark.parametrize(
    "table",
    [
        '[[team]]\nname = "a"\nentitled_hours = 77',
        HOLDING.replace("year = 1", "year = 77"),
        "[carbon]\nmarket_kg_per_kwh = 77\nsource = 'a'",
        SPOT.replace("save_h = 0.1", "save_h = 77"),
        SPOT.replace("restart_h = 0", "restart_h = 77"),
        "[usage]\nobjective = { wait_minutes = 77, share = 0.5 }",
        "[[speed]]\naccelerator = 'a'\nhours = { low = 1, mode = 1, high = 77, source = 'a' }",
        "[[input]]\nparameter = 'a'\nvalue = { low = 77, mode = 1, high = 1, source = 'a' }",
        "[forecast]\nfiles = ['a.csv']\nperiods = 77",
    ],
)
def test_numbers_that_are_none_or_endless_are_our_error(plan_text, table, number):
    with pytest.raises(ProcurementPlanError, match=r"plan\.toml"):
        read_plan(f"{plan_text}\n{table.replace('77', number)}", "plan.toml")


def test_what_can_be_left_out_is_none(plan_text):
    lines = plan_text.splitlines()
    bare = "\n".join(line for line in lines if not line.startswith(("hours", "commitment")))

    plan = read_plan(f"{bare}\n[carbon]\nlocation_kg_per_kwh = 0.4\nsource = 'a'", "plan.toml")
    assert (plan.demand.hours, plan.demand.commitment_utilization) == (None, None)
    assert (plan.demand.hours_kind, plan.spot) == (HoursKind.PAID, None)
    assert plan.carbon is not None
    assert plan.carbon.market_kg_per_kwh is None


def test_an_own_input_takes_the_packaged_ones_place(plan_text):
    text = plan_text + INPUT.format("colo_price", ', basis = "quoted", as_of = 2026-10-01')
    sheet = own_hardware_inputs(
        packaged_hardware_inputs(), read_plan(text, "plan.toml").input, date(2026, 11, 22)
    )

    rent = sheet.find("colo_price")
    assert rent.mode == 2
    assert (rent.confidence, rent.as_of) == (SourceConfidence.HIGH, date(2026, 10, 1))


def test_an_own_share_above_1_is_refused(plan_text):
    plan = read_plan(plan_text + INPUT.format("wacc", ""), "plan.toml")

    with pytest.raises(ProcurementPlanError, match=r"wacc is up to 3 per year.* 0\.08 for 8 %"):
        own_hardware_inputs(packaged_hardware_inputs(), plan.input, date(2026, 11, 22))


def test_an_own_input_that_nothing_depends_on_is_refused(plan_text):
    plan = read_plan(plan_text + INPUT.format("waac", ""), "plan.toml")

    with pytest.raises(ProcurementPlanError, match="waac"):
        own_hardware_inputs(packaged_hardware_inputs(), plan.input, date(2026, 11, 22))


def test_a_plan_names_files_labels_and_an_objective(plan_text):
    text = """
[usage]
files = ["usage.csv", "exports/sacct 2026Q3.txt"]
team = "account"
jobs = "jobs.csv"
objective = { wait_minutes = 60, share = 0.95 }
"""

    used = read_plan(plan_text + text, "plan.toml").usage
    assert used is not None
    assert used.files[1] == "exports/sacct 2026Q3.txt"
    assert (used.team, used.project, used.jobs) == ("account", "", "jobs.csv")
    assert used.objective is not None


@pytest.mark.parametrize(
    "name",
    ["", "/etc/passwd", "../usage.csv", "a/../../b", "~/usage.csv", "C:\\\\b", "a\\u0000", "\\n"],
)
@pytest.mark.parametrize("key", ['files = ["{}"]', 'jobs = "{}"'])
def test_a_plan_reaches_no_file_out_of_its_folder(plan_text, key, name):
    with pytest.raises(ProcurementPlanError, match="usage"):
        read_plan(f"{plan_text}\n[usage]\n{key.format(name)}\n", "plan.toml")


@pytest.mark.parametrize(
    "objective",
    [
        "wait_minutes = -1, share = 0.9",
        "wait_minutes = 1, share = 0",
        "wait_minutes = nan, share = 1",
    ],
)
def test_an_objective_has_a_time_and_a_share(plan_text, objective):
    with pytest.raises(ProcurementPlanError, match="objective"):
        read_plan(f"{plan_text}\n[usage]\nobjective = {{ {objective} }}\n", "plan.toml")


def range_of(low, high):
    return f"{{ low = {low}, mode = {high}, high = {high}, source = 'a' }}"


SPEED = "[[speed]]\naccelerator = 'a'\nhours = {}"
GOAL = "[usage]\nobjective = {{ wait_minutes = {}, share = {} }}"
REPLAY = "[usage]\nreplay = {{ nodes = {}, devices = 8, policies = {} }}"


@pytest.mark.parametrize(
    ("table", "is_accepted"),
    [
        (SPEED.format(range_of("0.001", 1000)), True),
        (SPEED.format(range_of("0.0009", 1)), False),
        (SPEED.format(range_of(1, "1000.5")), False),
        (INPUT.format("a", "").replace("low = 1", "low = 0"), True),
        (INPUT.format("a", "").replace("low = 1", "low = -0.5"), False),
        (INPUT.format("a", "").replace("high = 3", "high = 1e12"), True),
        (INPUT.format("a", "").replace("high = 3", "high = 2e12"), False),
        (GOAL.format(0, 1), True),
        (GOAL.format("0.5", "0.5"), True),
        (GOAL.format(525_600, "0.01"), True),
        (GOAL.format(525_601, "0.5"), False),
        (GOAL.format("-0.5", "0.5"), False),
        (GOAL.format(1, 0), False),
        (GOAL.format(1, "1.01"), False),
        (REPLAY.format(1, ["a", "b"]), True),
        (REPLAY.format(1_000_000, ["a"] * 8), True),
        (REPLAY.format(1_000_001, ["a", "b"]), False),
        (REPLAY.format(0, ["a", "b"]), False),
        (REPLAY.format(1, ["a"]), False),
        (REPLAY.format(1, ["a"] * 9), False),
        (REPLAY.format(1, ["a", ""]), False),
        (REPLAY.format(1, ["a", "b" * 500]), True),
        (REPLAY.format(1, ["a", "b" * 501]), False),
        ("[usage]\njobs = 'a'", True),
        ("[usage]\njobs = ''", False),
        (f"[usage]\njobs = '{'a' * 500}'", True),
        (f"[usage]\njobs = '{'a' * 501}'", False),
        ("[forecast]\nfiles = ['a']\nperiods = 1", True),
        (SPOT.replace("mode = 0, high = 0", "mode = 60, high = 60", 1), True),
        (SPOT.replace("mode = 0, high = 0", "mode = 60, high = 60.5", 1), False),
        (
            SPOT.replace(
                "fallback = { low = 0, mode = 0, high = 0",
                "fallback = { low = 0, mode = 1, high = 1",
            ),
            True,
        ),
        (
            SPOT.replace(
                "fallback = { low = 0, mode = 0, high = 0",
                "fallback = { low = 0, mode = 1, high = 1.5",
            ),
            False,
        ),
        (
            SPOT.replace("save_h = 0.1", "save_h = 24").replace("restart_h = 0", "restart_h = 24"),
            True,
        ),
        (SPOT.replace("save_h = 0.1", "save_h = 24.5"), False),
    ],
)
def test_figures_of_a_plan_are_accepted_up_to_their_limits(plan_text, table, is_accepted):
    text = f"{plan_text}\n{table}"

    if is_accepted:
        read_plan(text, "plan.toml")
    else:
        with pytest.raises(ProcurementPlanError, match=r"plan\.toml"):
            read_plan(text, "plan.toml")


@pytest.mark.parametrize(
    ("before", "after", "is_accepted"),
    [
        ("low = 0.5, mode = 0.7, high = 0.8", "low = 0.01, mode = 0.7, high = 1", True),
        ("low = 0.5, mode = 0.7, high = 0.8", "low = 0.009, mode = 0.7, high = 1", False),
        ("low = 0.5, mode = 0.7, high = 0.8", "low = 0.5, mode = 0.7, high = 1.1", False),
        ("low = 200000", "low = 1", True),
        ("low = 200000", "low = 0.5", False),
        ("low = 0.0, mode = 0.1, high = 0.3", "low = -0.9, mode = 0.1, high = 10", True),
        ("low = 0.0, mode = 0.1, high = 0.3", "low = -0.91, mode = 0.1, high = 1", False),
        ("low = 0.0, mode = 0.1, high = 0.3", "low = 0, mode = 0.1, high = 10.5", False),
    ],
)
def test_demand_is_accepted_up_to_its_limits(plan_text, before, after, is_accepted):
    text = plan_text.replace(before, after)

    if is_accepted:
        read_plan(text, "plan.toml")
    else:
        with pytest.raises(ProcurementPlanError, match=r"plan\.toml"):
            read_plan(text, "plan.toml")


def test_a_team_is_entitled_to_nothing_unless_the_plan_says_so(plan_text):
    (team,) = read_plan(f'{plan_text}\n[[team]]\nname = "a"', "plan.toml").team

    assert team.entitled_hours == 0
    assert team.workloads == ()

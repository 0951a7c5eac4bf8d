"""What a plan says of usage files and waits, and which files it may not name."""

import pytest

from perfledger_cost_models.procurement_plan import PlanError, read_plan


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
    with pytest.raises(PlanError, match="usage"):
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
    with pytest.raises(PlanError, match="objective"):
        read_plan(f"{plan_text}\n[usage]\nobjective = {{ {objective} }}\n", "plan.toml")

"""A review whose plan names usage files and a job log; all of them are made here."""

import json

import pytest
from typer.testing import CliRunner

from perfledger_service.cli.app import app
from perfledger_service.errors import NotFoundError, UsageError

PLAN = """
[demand]
accelerator = "H100-80GB"
keep = "p5.48xlarge/on_demand"
growth = { low = 0.0, mode = 0.1, high = 0.3, source = "made up" }
commitment_utilization = { low = 0.5, mode = 0.7, high = 0.8, source = "made up" }
hours = { low = 1, mode = 3e5, high = 4e5, source = "made up" }
[[option]]
name = "today"
where = "p5.48xlarge/on_demand"
[[team]]
name = "vision"
entitled_hours = 1
[usage]
files = ["usage.csv"]
jobs = "jobs.csv"
"""
ROW = {
    "BillingCurrency": "USD",
    "BilledCost": "5504",
    "ChargeCategory": "Usage",
    "ChargePeriodStart": "2026-07-01T00:00:00Z",
    "ChargePeriodEnd": "2026-10-01T00:00:00Z",
    "EffectiveCost": "5504",
    "PricingCategory": "Standard",
    "PricingQuantity": "100",
    "PricingUnit": "Hours",
    "ProviderName": "AWS",
    "RegionId": "us-east-1",
    "SubAccountId": "x",
    "ResourceType": "p5.48xlarge",
}
BILL = f"{','.join(ROW)}\n{','.join(ROW.values())}\n"
USAGE = """start,end,team,gpu_hours
2026-07-01,2026-10-01,<b>vision,500
2026-07-01,2026-10-01,speech,200
"""
HISTORY = "month,hours,usd\n" + "".join(
    f"{2025 + month // 12}-{month % 12 + 1:02},{1000 + month},{7000 + 7 * month}.5\n"
    for month in range(18)
)
JOBS = """team,gpu_num,submit_time,start_time,end_time
<b>vision,1,2026-07-01 00:00:00,2026-07-01 00:00:00,2026-07-01 01:00:00
speech,1,2026-07-02 00:00:00,2026-07-02 02:00:00,2026-07-02 03:00:00
"""


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    files = {"plan.toml": PLAN, "bill.csv": BILL, "usage.csv": USAGE, "jobs.csv": JOBS}
    files["history.csv"] = HISTORY
    for name, text in files.items():
        (tmp_path / name).write_text(text)

    def run(*, change=("", ""), file="plan.toml"):
        path = tmp_path / file
        path.write_text(path.read_text().replace(*change, 1))
        words = ["review", "--quarter", "2026Q3", "--as-of", "2026-11-22", "--plan", "plan.toml"]
        words += ["--bill", "bill.csv", "--output", "out"]
        done = CliRunner().invoke(app, [*words, "--format", "html", "--format", "json"])
        if done.exception is not None:
            raise done.exception
        document = json.loads((tmp_path / "out" / "review.json").read_text())
        return document, (tmp_path / "out" / "review.html").read_text()

    return run


@pytest.mark.slow
def test_owners_pay_for_allocated_devices_and_waits_are_shown(run):
    document, page = run()

    rows = {row["team"]: row for row in document["allocation"]["rows"]}
    assert rows["speech"]["direct_usd"] == "1376.00"
    assert rows["vision"]["idle_usd"] == "688.00"
    assert ["speech", "200.0"] in document["allocation"]["hours"]
    assert document["supply"]["waits"]["overall"]["wait_mean_s"] == 3600
    assert "2 jobs of 2026Q3 waited 1 h on average" in page
    assert "The plan states no objective for waits" in page
    assert "Device-hours by team and week" in page
    assert "<b>vision" not in page
    assert {"usage.csv", "jobs.csv"} <= {one["origin"] for one in document["sources"]}


@pytest.mark.slow
def test_waits_are_held_against_the_plans_objective(run):
    line = 'jobs = "jobs.csv"'
    _, page = run(change=(line, f"{line}\nobjective = {{ wait_minutes = 60, share = 0.9 }}"))

    assert "The objective, 90\u00a0% within 1 h, was not met: 50.0\u00a0% were." in page


@pytest.mark.slow
def test_the_share_of_jobs_that_waited_no_longer_is_drawn(run):
    document, page = run()

    assert "Share of the jobs of 2026Q3 that waited no longer, by jobs.csv" in page
    titles = ("all jobs", "&lt;b&gt;vision", "speech")
    assert [page.count(f"<title>{title}</title>") for title in titles] == [1, 1, 1]
    curve = document["supply"]["waits"]["overall"]["wait_curve_s"]
    assert (curve[0], curve[-1], curve == sorted(curve)) == (0, 7200, True)


@pytest.mark.slow
def test_waits_and_use_are_drawn_before_and_after_other_policies(run):
    line = 'jobs = "jobs.csv"'
    replay = 'replay = { nodes = 1, devices = 1, policies = ["fifo", "sjf"] }'

    document, page = run(change=(line, f"{line}\n{replay}"))

    policies = document["supply"]["policies"]
    assert [row["figures"]["policy"] for row in policies["rows"]] == ["fifo", "sjf"]
    assert (policies["jobs"], policies["devices"]) == (2, 1)
    assert "jobs.csv: 2 jobs on 1 device" in page
    assert "Devices in use" in page
    # The log's second job waited two hours for a free device; no replay shows what it gains.
    assert "Not calibrated: only 1 job of the log waited" in page.replace("\u00a0", " ")
    assert "With sjf instead of fifo" not in page


@pytest.mark.slow
def test_only_jobs_of_the_quarter_are_replayed_and_the_others_are_counted(run, tmp_path):
    line = 'jobs = "jobs.csv"'
    replay = 'replay = { nodes = 1, devices = 1, policies = ["fifo", "sjf"] }'
    early = "vision,1,2026-06-30 23:00:00,2026-06-30 23:00:00,2026-07-09 23:00:00\n"
    late = "vision,1,2026-10-01 00:00:00,2026-10-01 00:00:00,2026-10-01 01:00:00\n"
    (tmp_path / "jobs.csv").write_text(JOBS + early + late)

    document, page = run(change=(line, f"{line}\n{replay}"))

    policies = document["supply"]["policies"]
    assert policies["jobs"] == 2
    assert policies["days"] == 1.0  # from the first of July, not of the log
    assert policies["rows"][0]["figures"]["wait_mean_s"] == 0
    assert "2 rows of the log left out: submitted outside the quarter." in page


@pytest.mark.slow
def test_without_nodes_to_replay_on_other_policies_are_unknown(run):
    document, _ = run()

    assert "waits and utilization under other scheduling policies" in {
        one["unknown"] for one in document["unknowns"]
    }


@pytest.mark.slow
def test_a_policy_that_there_is_none_of_is_named(run):
    line = 'jobs = "jobs.csv"'
    replay = 'replay = { nodes = 1, devices = 1, policies = ["fifo", "magic"] }'

    with pytest.raises(NotFoundError, match="no policy 'magic'"):
        run(change=(line, f"{line}\n{replay}"))


@pytest.mark.slow
def test_the_need_and_cost_of_the_next_months_are_shown(run):
    document, page = run(change=("[usage]", '[forecast]\nfiles = ["history.csv"]\n[usage]'))

    hours, usd = document["demand"]["forecast"]["forecasts"]
    assert (hours["quantity"], usd["quantity"]) == ("hours", "usd")
    assert [one["period"] for one in usd["periods"]][:2] == ["2026-07", "2026-08"]
    assert f"{float(usd['total']['p50']):,.0f}" in page
    assert "P25 to P75" in page
    assert "history.csv" in {one["origin"] for one in document["sources"]}
    assert not [one for one in document["unknowns"] if "next months" in one["unknown"]]


@pytest.mark.slow
def test_past_hours_are_priced_at_the_price_of_the_plan(run):
    table = (
        '[forecast]\nfiles = ["history.csv"]\nperiods = 2\nat = "p5.48xlarge/on_demand"\n[usage]'
    )
    document, page = run(change=("[usage]", table))

    hours, usd = document["demand"]["forecast"]["forecasts"]
    assert len(hours["periods"]) == 2
    assert float(usd["total"]["p50"]) == pytest.approx(hours["total"]["p50"] * 6.88)
    assert "p5.48xlarge" in page


@pytest.mark.parametrize(
    ("change", "file", "error", "message"),
    [
        (("usage.csv", "none.csv"), "plan.toml", NotFoundError, "none.csv"),
        (("jobs.csv", "none.csv"), "plan.toml", NotFoundError, "none.csv"),
        (("jobs =", 'team = "owner"\njobs ='), "plan.toml", UsageError, "label 'owner'"),
        (("speech,200", "speech,2000"), "usage.csv", UsageError, "counts twice"),
        (
            ("start,end,team,gpu_hours", "a,b,c,d"),
            "usage.csv",
            UsageError,
            "not a known usage file",
        ),
        (("2026-07-01 00", "soon 00"), "jobs.csv", UsageError, "soon"),
        ((JOBS, JOBS.replace("2026", "2025")), "jobs.csv", UsageError, "2026Q3"),
        (
            ("[usage]", '[forecast]\nfiles = ["a.csv"]\n[usage]'),
            "plan.toml",
            NotFoundError,
            "a.csv",
        ),
        (("[usage]", '[forecast]\nfiles = ["jobs.csv"]\n[usage]'), "plan.toml", UsageError, "jobs"),
    ],
)
def test_files_that_do_not_fit_are_errors(run, change, file, error, message):
    with pytest.raises(error, match=message):
        run(change=change, file=file)


@pytest.mark.slow(ci_only=True)
def test_a_plan_may_name_an_import(run, tmp_path, monkeypatch):
    from_files, _ = run()
    database = f"sqlite:///{tmp_path / 'service.db'}"
    monkeypatch.setenv("PERFLEDGER_DATABASE_URL", database)
    for words in (
        ("server", "db", "upgrade"),
        ("server", "import", "usage", "usage.csv"),
        ("server", "import", "jobs", "jobs.csv"),
    ):
        assert CliRunner().invoke(app, list(words)).exit_code == 0

    run(change=('files = ["usage.csv"]', 'files = ["store:main"]'))
    from_store, _ = run(change=('jobs = "jobs.csv"', 'jobs = "store:main"'))

    for part in ("allocation", "supply"):
        assert from_store[part] == from_files[part]


@pytest.mark.slow
def test_an_import_needs_a_database(run):
    with pytest.raises(
        UsageError,
        match="'store:main' is an import, but there is no service database: set PERFLEDGER_",
    ):
        run(change=('files = ["usage.csv"]', 'files = ["store:main"]'))

"""The commands whose output about the files of `examples` is a golden file, in which formats."""

from pathlib import Path

GOLDEN = Path(__file__).parent / "golden"
TEXTS = ("table", "markdown", "csv", "json")
PICTURES = (*TEXTS, "svg")
# By the name of its golden files: the command, after variables that it needs, and its formats.
COMMANDS = {
    "compare": ("compare before.csv after.csv", TEXTS),
    "bench_power": ("bench power bundle.json", TEXTS),
    "history_detect": ("history detect bundles", TEXTS),
    "history_detect_series": (
        "history detect bundles --column 'benchmarks.gpt:train_step step_time_p50'",
        ("svg",),
    ),
    "history_detect_other_tool": ("history detect data.js", TEXTS),
    "history_import": ("history import data.js --repository octo/models --dry-run", TEXTS),
    "trace_summary": ("trace summary trace.json", (*PICTURES, "speedscope")),
    "trace_summary_ranks": ("trace summary rank0.json rank1.json", TEXTS),
    "trace_diff": (
        "trace diff base.json head.json --base-repeat base2.json",
        (*PICTURES, "speedscope"),
    ),
    "trace_whatif": ("trace whatif trace.json --speedup input=2", TEXTS),
    "trace_mfu": (
        "trace mfu trace.json --units-per-step 8192 --parameters 7e9 --accelerator h100-sxm5-80gb",
        TEXTS,
    ),
    "cost_energy": (
        "cost energy 1022362 --mean-watts 700 --location-kg-per-kwh 0.4",
        TEXTS,
    ),
    "cost_coverage": (
        "cost coverage hours.csv --savings-plan p5:60@1y_all_upfront",
        TEXTS,
    ),
    "cost_project": (
        "cost project training/bert --source-accelerator A100-80GB --units-per-second 1200",
        PICTURES,
    ),
    "cost_change": ("cost change bundle.json --config fleet.toml", PICTURES),
    "fleet_hours": ("fleet hours usage.csv --config fleet.toml", (*TEXTS, "toml")),
    "fleet_utilization": (
        "fleet utilization activity.csv --target-percent 80",
        PICTURES,
    ),
    "fleet_allocate": (
        "fleet allocate usage.csv --bill bill.csv --project-label label_project",
        TEXTS,
    ),
    "fleet_allocate_chart": ("fleet allocate usage.csv", ("svg",)),
    "fleet_forecast": ("fleet forecast history.csv --budget-usd 500000", PICTURES),
    "fleet_start_window": (
        "fleet start-window carbon.csv --job-hours 6 --mean-kw 40",
        PICTURES,
    ),
    "plan_rightsize": ("plan rightsize curve.json --p99 80ms --request-rate 120", PICTURES),
    "plan_queue_loose": ("plan queue jobs.csv --max-wait-minutes 6000", ("table", "json")),
    "plan_queue": ("plan queue jobs.csv --devices 8 --max-wait-minutes 30", PICTURES),
    "plan_simulate": (
        "plan simulate jobs.csv --nodes 2 --devices-per-node 8 --policy fifo --policy fair",
        PICTURES,
    ),
    "prices_diff": ("prices diff first_prices.csv later_prices.csv", TEXTS),
    "prices_update": ("prices update --file azure.json --as-of 2026-11-20", TEXTS),
    "prices_bill": ("prices bill bill.csv", TEXTS),
    "bench_power_spread": ("bench power --spread-percent 0.8 --change-percent 1", TEXTS),
    "compare_bundles": ("compare bundles bundle.json", TEXTS),
    "history_detect_timings": ("history detect timings.csv --column seconds", PICTURES),
    "fleet_faults": (
        "fleet faults --faults 3 --devices 512 --days 365 --fleet-devices 2048",
        TEXTS,
    ),
    "plan_elastic": ("plan elastic jobs.csv --speeds speeds.csv --capacity A100-80GB=8", TEXTS),
    "plan_queue_rates": (
        "plan queue --devices 16 --arrivals-per-hour 10 --service-minutes 60 --max-wait-minutes 5",
        TEXTS,
    ),
    "cost_api": ("cost api --input-usd 0.60 --output-usd 2.40 --at on-prem,p5", TEXTS),
    "cost_compare": ("cost compare --at on-prem,p4d,p5,tpu-v4 --allocated-percent 60", PICTURES),
    "cost_payments": (
        "cost payments p5.48xlarge/savings_plan/1y_all_upfront --devices 16 --start 2027-01-01",
        TEXTS,
    ),
    "cost_projected_bundle": ("cost project bundle.json --target-accelerator H100-80GB", TEXTS),
    "cost_tco": ("cost tco", PICTURES),
    "cost_compare_two": ("cost compare --at p4d,p5 --allocated-percent 60", ("table", "json")),
    "report": ("report bundle.json", ("table", "markdown", "json")),
    "server_backup": (
        "PERFLEDGER_DATABASE_URL=sqlite:///ledger.db server backup ledger.zip",
        TEXTS,
    ),
    "server_export": (
        "PERFLEDGER_DATABASE_URL=sqlite:///ledger.db server export exported",
        ("table", "json"),
    ),
    "server_restore": (
        "PERFLEDGER_DATABASE_URL=sqlite:///new.db server restore backup.zip",
        TEXTS,
    ),
    "prices_check": ("prices check prices.csv --previous old-prices.csv", TEXTS),
    # The same of cents and minutes: no amount of these files reaches one.
    "small_allocate": (
        "fleet allocate small_usage.csv --bill small_bill.csv --project-label label_project",
        ("table", "json"),
    ),
    "small_allocate_chart": ("fleet allocate small_usage.csv", ("svg",)),
    "small_hours": ("fleet hours small_usage.csv --config fleet.toml", ("table", "toml")),
    "small_forecast": (
        "fleet forecast small_history.csv --budget-usd 0.5",
        ("table", "json", "svg"),
    ),
    "small_project": (
        "cost project training/bert --source-accelerator A100-80GB --units-per-second 0.5",
        ("table", "json"),
    ),
    "small_queue": (
        "plan queue --devices 1 --arrivals-per-hour 0.5 --service-minutes 0.5",
        ("table", "json"),
    ),
    "small_faults": (
        "fleet faults --faults 1 --devices 1 --days 0.5 --fleet-devices 1",
        ("table", "json"),
    ),
    "small_api": (
        "cost api --input-usd 0.06 --output-usd 0.24 --at p5 --devices-per-replica 1",
        ("table", "json"),
    ),
    "small_bill": ("prices bill small_bill.csv", ("table", "json")),
    "small_energy": (
        "cost energy 0.5 --mean-watts 0.7 --location-kg-per-kwh 0.4",
        ("table", "json"),
    ),
    "small_coverage": (
        "cost coverage small_hours.csv --savings-plan p5:0.06@1y_all_upfront",
        ("table", "json"),
    ),
    "small_start_window": (
        "fleet start-window small_carbon.csv --job-hours 1 --mean-kw 0.04",
        ("table", "json", "svg"),
    ),
    "small_compare": ("compare small_before.csv small_after.csv", ("table", "json")),
    "small_power": ("bench power --spread-percent 0.008 --change-percent 0.01", ("table", "json")),
}
# Of each file of the examples that has a small twin: by what its columns of amounts are multiplied.
SMALL = {
    "bill.csv": (1e-6, {"BilledCost", "EffectiveCost", "PricingQuantity"}),
    "usage.csv": (1e-6, {"gpu_hours"}),
    "history.csv": (1e-6, {"hours", "usd"}),
    "hours.csv": (0.1, {"quantity"}),
    "carbon.csv": (1e-3, {"kg_per_kwh", "usd_per_hour"}),
    "before.csv": (1e-3, {"seconds"}),
    "after.csv": (1e-3, {"seconds"}),
}
PRICES = {"first_prices.csv", "later_prices.csv"}

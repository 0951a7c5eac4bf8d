"""The typer application: one function a command, each importing only what it needs."""

import typer

from perfledger_service.cli import (
    allocating,
    checking,
    costs,
    covering,
    emitting,
    figuring,
    forecasting,
    histories,
    importing,
    loading,
    prices as sheets,
    pricing,
    projecting,
    reviews,
    scheduling,
    serving,
    setting_up,
    sizing,
    suspects,
    tracing,
    utilizing,
)

app = typer.Typer(add_completion=False, no_args_is_help=True, pretty_exceptions_enable=False)

app.command("check")(checking.check)
app.command("report")(checking.report)
app.command("submit")(checking.submit)
app.command("recall")(checking.recall)
app.command("suspects")(suspects.suspects)
app.command("compare")(histories.compare)
app.command("detect")(histories.detect)
app.command("power")(histories.power)
app.command("load")(loading.load)
app.command("review")(reviews.review)
app.command("workloads")(setting_up.workloads)
app.command("init")(setting_up.init)
app.command("serve")(serving.serve)

config = typer.Typer(help="Settings.", no_args_is_help=True)
config.command("show")(setting_up.config_show)
app.add_typer(config, name="config")

cost = typer.Typer(help="What hours and changes cost.", no_args_is_help=True)
cost.command("compare")(costs.cost_compare)
cost.command("tco")(costs.cost_tco)
cost.command("project")(projecting.project)
cost.command("change")(pricing.cost_change)
cost.command("fleet")(pricing.cost_fleet)
cost.command("queue")(scheduling.cost_queue)
cost.command("simulate")(scheduling.cost_simulate)
cost.command("allocate")(allocating.cost_allocate)
cost.command("utilization")(utilizing.cost_utilization)
cost.command("forecast")(forecasting.cost_forecast)
cost.command("window")(forecasting.cost_window)
cost.command("rightsize")(sizing.cost_rightsize)
cost.command("cover")(covering.cost_cover)
cost.command("energy")(emitting.cost_energy)
app.add_typer(cost, name="cost")

prices = typer.Typer(help="The price sheet.", no_args_is_help=True)
prices.command("list")(sheets.prices_list)
prices.command("check")(sheets.prices_check)
prices.command("update")(sheets.prices_update)
prices.command("diff")(sheets.prices_diff)
prices.command("bill")(sheets.prices_bill)
app.add_typer(prices, name="prices")

trace = typer.Typer(help="Profiler files.", no_args_is_help=True)
trace.command("summary")(tracing.summary)
trace.command("diff")(tracing.diff)
trace.command("whatif")(tracing.whatif)
trace.command("mfu")(figuring.mfu)
app.add_typer(trace, name="trace")

imports = typer.Typer(help="Files about the fleet, kept by the service.", no_args_is_help=True)
imports.command("usage")(importing.import_usage)
imports.command("activity")(importing.import_activity)
imports.command("jobs")(importing.import_jobs)
imports.command("load")(importing.import_load)
imports.command("list")(importing.import_list)
imports.command("remove")(importing.import_remove)
app.add_typer(imports, name="import")

database = typer.Typer(help="The service's database.", no_args_is_help=True)
database.command("upgrade")(serving.database_upgrade)
app.add_typer(database, name="db")

project = typer.Typer(help="Projects and their upload tokens.", no_args_is_help=True)
project.command("add")(serving.project_add)
project.command("list")(serving.project_list)
project.command("revoke")(serving.project_revoke)
app.add_typer(project, name="project")

"""The pages of `docs/reference/limits`: which modules each lists, and what it says of them."""

SHORTENED = """Longer texts are shortened. Longer tables show their first rows and how many more
    there are. A chart with too many rows or points shows the largest, or fewer points."""
# Of each page: the title, the folder whose modules it lists, and what happens beyond a limit.
PAGES = {
    "service": (
        "the service and GitHub",
        "service/perfledger_service",
        """The service refuses a request beyond its limit, with an error that says what is too
        large. A time limit ends one attempt.""",
    ),
    "web": (
        "requests and pages of the service",
        "service/perfledger_service/web",
        """The service refuses a request beyond its limit, with an error that says what is too
        large. Longer lists are cut off or have pages.""",
    ),
    "store": (
        "the service's database",
        "service/perfledger_service/store",
        """A request beyond a limit is refused, with an error that says what is too large. Longer
        lists are cut off or have pages.""",
    ),
    "commands": (
        "the inputs of commands",
        "service/perfledger_service/usecases",
        """Commands and pages refuse a file or table beyond its limit, with an error that says what
        is too large. A time limit ends one attempt.""",
    ),
    "histories": (
        "the history of a branch",
        "service/perfledger_service/usecases/history",
        """A command refuses what is beyond its limit, with an error that says what is too large.
        Of longer histories the newest part is searched.""",
    ),
    "operation": (
        "operating the service",
        "service/perfledger_service/usecases/server",
        """A command or page refuses what is beyond its limit, with an error that says what is too
        large. The other numbers say how much is done at a time.""",
    ),
    "checks": (
        "checks",
        "service/perfledger_service/usecases/check",
        """A check refuses what is beyond its limit, with an error that says what is too large. A
        time limit ends one attempt.""",
    ),
    "reports": (
        "reports, pages and charts",
        "service/perfledger_service/rendering",
        SHORTENED,
    ),
    "service-reports": (
        "what is shown of the service itself",
        "service/perfledger_service/rendering/server",
        SHORTENED,
    ),
    "trace-reports": (
        "what is shown of a trace",
        "service/perfledger_service/rendering/trace",
        SHORTENED,
    ),
    "sdk": (
        "the SDK in a workload's process",
        "runners/perfledger",
        """The SDK refuses a workload that is declared beyond a limit. It stops measuring at a
        limit of time or samples, and shortens texts.""",
    ),
    "launchers": (
        "how a runner starts its jobs",
        "runners/perfledger_runners/launchers",
        """A launcher ends a job that exceeds a limit, and gives up a request that is not
        answered.""",
    ),
    "measuring": (
        "measuring",
        "runners/perfledger_runners/measuring",
        """A check measures no further than a limit allows, and a note says so.""",
    ),
    "runner": (
        "the runner",
        "runners/perfledger_runners",
        """The runner ends a child process that exceeds a limit, and its run counts as not
        measured. It refuses a bundle or a message that is too large.""",
    ),
    "profiles": (
        "files of profilers",
        "runners/perfledger_profiles",
        """A reader refuses a file beyond a limit, or reads a part of it and adds a note. A share is
        a threshold: it decides which bottleneck, cause or advice is reported.""",
    ),
    "bottlenecks": (
        "what bounds a step",
        "runners/perfledger_profiles/bottleneck",
        """A share is a threshold: it decides which bottleneck or advice is reported.""",
    ),
    "timeline": (
        "the timeline of a trace",
        "runners/perfledger_profiles/timeline",
        """A trace beyond a limit is read in part, with a note. A share is a threshold: it decides
        whether a reading is reported.""",
    ),
    "benchmarks": (
        "files of benchmark tools",
        "runners/perfledger_profiles/benchmark_tools",
        """A reader refuses a file beyond a limit, or reads a part of it and adds a note.""",
    ),
    "change-points": (
        "change points",
        "baselines/perfledger_baselines/history",
        """With less evidence than the minimum, nothing is a change point and nothing raises an
        alert.""",
    ),
    "judging": (
        "judging",
        "baselines/perfledger_baselines",
        """With less evidence than the minimum, a verdict is undecided and nothing raises an
        alert.""",
    ),
    "utilization": (
        "telemetry of devices",
        "cost_models/perfledger_cost_models/telemetry",
        """A reader refuses an export beyond a limit and names the place. Over less time than the
        minimum, utilization is reported without advice.""",
    ),
    "serving": (
        "load tests and replicas of a server",
        "cost_models/perfledger_cost_models/serving",
        """A reader refuses a load test beyond a limit. A plan within these distances and chances is
        the answer; beyond them it asks for a measurement.""",
    ),
    "queues": (
        "simulated queues of jobs",
        "cost_models/perfledger_cost_models/scheduling",
        """A reader refuses a file or a job beyond a limit and names the place.""",
    ),
    "forecasting": (
        "forecasts of demand",
        "cost_models/perfledger_cost_models/forecasting",
        """With a shorter series than the minimum there is no forecast, or a simpler one.""",
    ),
    "prices": (
        "price sheets",
        "cost_models/perfledger_cost_models/prices",
        """A row beyond a limit is left out and named. A figure beyond a plausibility threshold
        stays and gets a warning.""",
    ),
    "ownership": (
        "the cost of ownership",
        "cost_models/perfledger_cost_models/tco",
        """A reader refuses a scenario beyond a limit and names the place. A figure beyond a
        plausibility threshold stays and gets a warning.""",
    ),
    "costs": (
        "fleets, bills and costs",
        "cost_models/perfledger_cost_models",
        """A reader refuses a file or an entry beyond a limit and names the place. A figure beyond
        a plausibility threshold stays and gets a warning.""",
    ),
}
# Of each page of tables: the title, and the folders whose modules it lists.
TABLES = {
    "tools-tables": ("files of tools", "runners/perfledger_profiles", "benchmark_tools"),
    "profiles-tables": (
        "profiles and devices",
        "runners/perfledger_profiles",
        "bottleneck diff hardware nsight_systems parsing timeline torch_profiler xla",
    ),
    "costs-tables": (
        "prices and costs",
        "cost_models/perfledger_cost_models",
        "billing change price_feeds prices review tco",
    ),
    "fleets-tables": (
        "jobs and devices of a fleet",
        "cost_models/perfledger_cost_models",
        "capacity forecasting job_logs queueing scheduling serving telemetry usage",
    ),
    "runner-tables": (
        "the SDK, the runner and judging",
        ".",
        "runners/perfledger runners/perfledger_runners baselines",
    ),
    "service-tables": ("the service", ".", "service"),
}

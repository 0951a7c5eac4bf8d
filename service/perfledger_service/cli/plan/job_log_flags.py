"""Defines the options for a job log."""

from pathlib import Path
from typing import Annotated

from perfledger_cost_models.job_logs.formats import LogFormat
from perfledger_service.cli.option_groups import argument, what

JobLog = Annotated[
    Path | None,
    argument("a job log: SWF, sacct, kubectl, Prometheus, Philly's JSON, or CSV", metavar="LOG"),
]
JobLogFormat = Annotated[LogFormat | None, what("format of the log", default="detected")]

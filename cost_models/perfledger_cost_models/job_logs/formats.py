"""The supported formats of job logs."""

from enum import StrEnum


class LogFormat(StrEnum):
    """The format of a job log."""

    SWF = "swf"
    SACCT = "sacct"
    PHILLY = "philly"
    KUBERNETES = "kubernetes"
    PROMETHEUS = "prometheus"
    CSV = "csv"

"""Reads the devices that each job held from Slurm's accounting.

Needs `sacct --parsable2` with JobID, Start, End (or Elapsed) and AllocTRES, and columns that
distinguish jobs: JobName, User, Account, Partition, QOS, Cluster, WCKey, Comment. Jobs without GPUs
count only for the period.
"""

from perfledger_cost_models.usage.device_spans import DeviceSpan, DeviceUsage, span_of, usage_of
from perfledger_cost_models.usage.sacct import gpus_of, sacct_rows

KIND = "Slurm accounting"
COLUMNS = ("JobID", "Start", "AllocTRES")
LABELS = {
    "JobName": "job",
    "User": "user",
    "Account": "account",
    "Partition": "partition",
    "QOS": "qos",
    "Cluster": "cluster",
    "WCKey": "wckey",
    "Comment": "comment",
}


def read_sacct(text: str, name: str) -> DeviceUsage:
    """Read the jobs of a table; raise UsageFileError."""
    spans: list[DeviceSpan] = []
    moments: list[float] = []
    runs: list[tuple[str, str, float]] = []
    for row in sacct_rows(text, name, COLUMNS):
        period = None if row.step else row.span()
        if period is None:
            continue
        moments += period
        runs.append((row.get("Cluster"), row.get("JobID"), period[0]))
        gpus = gpus_of(row.get("AllocTRES"))
        if gpus.count:
            labels = {ours: row.get(theirs) for theirs, ours in LABELS.items() if row.get(theirs)}
            labels |= {"gpu": gpus.model} if gpus.model else {}
            spans.append(span_of(name, labels, *period, gpus.devices))
    return usage_of(name, KIND, spans, idle_moments=moments, runs=runs)

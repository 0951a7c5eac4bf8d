"""The programs that a workload starts."""

"""Starts the processes that measure a job: here, behind a command, or in a cluster."""

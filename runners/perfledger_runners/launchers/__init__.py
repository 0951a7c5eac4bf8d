"""Starts what measures a job where it is to run: here, behind a command, or in a cluster."""

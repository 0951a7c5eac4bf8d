"""Starts the processes that measure a job: here, through another command, or in a cluster."""

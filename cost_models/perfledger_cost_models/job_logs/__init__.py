"""Readers of job logs of batch systems and Kubernetes into one table."""

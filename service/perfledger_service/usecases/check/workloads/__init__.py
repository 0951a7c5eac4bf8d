"""Owns the workloads of a check: those measured, those that are new, and their rules."""

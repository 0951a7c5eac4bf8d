"""Scheduling of jobs whose speed depends on the accelerator and the number of their devices."""

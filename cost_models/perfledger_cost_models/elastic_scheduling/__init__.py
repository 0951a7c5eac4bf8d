"""Scheduling of jobs whose speed depends on the class and the number of their devices."""

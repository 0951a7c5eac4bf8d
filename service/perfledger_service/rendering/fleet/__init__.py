"""Utilization, allocation and forecasts of a fleet."""

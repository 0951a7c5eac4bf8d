"""Owns the hours, utilization, cost allocation and forecasts of a fleet."""

"""Queries of what is stored of the fleet: machines, their utilization, and imported files."""

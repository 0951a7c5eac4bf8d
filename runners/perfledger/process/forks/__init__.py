"""Runs workloads in forks of a child, where these are independent."""

"""Runs workloads in forks of a child, if such forks are independent."""

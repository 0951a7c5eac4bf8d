"""Holds the canaries: built-in workloads that show whether a device is as fast as it should be."""

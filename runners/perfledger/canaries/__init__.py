"""Holds the canaries: built-in workloads that say whether a device is as quick as it should be."""

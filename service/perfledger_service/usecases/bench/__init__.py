"""Owns load tests of a workload and the changes that its noise lets a check detect."""

"""Owns what the registration of a workload may say: its arguments, and the names of variants."""

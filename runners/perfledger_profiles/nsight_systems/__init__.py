"""Owns the readers of Nsight Systems exports and reports."""

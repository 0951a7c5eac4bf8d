"""Owns the reader of Nsight Compute CSV pages."""

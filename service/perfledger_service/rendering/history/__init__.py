"""Histories, their change points, and the pages of a branch."""

"""Holds what pages about all projects show."""

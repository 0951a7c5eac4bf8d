"""Stores events: changes of a project with states set by people and measurements."""

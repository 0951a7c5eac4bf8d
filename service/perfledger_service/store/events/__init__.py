"""Stores events: changes of a project with the states that people and measurements give them."""

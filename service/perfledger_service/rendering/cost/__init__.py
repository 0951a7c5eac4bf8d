"""The cost of hours, work, changes and energy."""

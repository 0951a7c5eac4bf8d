"""The time until an interrupted job resumes, unless it is given."""

RESTART_SECONDS = 300.0

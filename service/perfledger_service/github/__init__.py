"""GitHub, behind one small port: pull requests, their comments and their checks."""

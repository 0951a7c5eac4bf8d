"""Owns the child process, which runs one command of the agent in the user's interpreter."""

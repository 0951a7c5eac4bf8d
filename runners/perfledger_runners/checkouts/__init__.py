"""Owns the use of git: revisions, worktrees and submodules, without touching the user's state."""

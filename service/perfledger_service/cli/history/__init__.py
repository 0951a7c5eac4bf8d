"""Commands about the history of a branch."""

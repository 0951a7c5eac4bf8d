"""Commands about a change: set up, check it, look at its report."""

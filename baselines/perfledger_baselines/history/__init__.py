"""Series of past runs: where they moved, what else they did, and since which commit."""

"""Cases of `faults.py`: what is planted in a repository, and what a check must say of it."""

"""Orders the rounds of pairs: which side runs first, and which workloads begin when."""

"""Cases about what is around a step: caches, configuration, git, and what is left for later."""

"""Right-sizing, queues and scheduling policies."""

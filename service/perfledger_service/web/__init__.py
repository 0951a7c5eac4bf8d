"""HTTP: requests in, use cases called, JSON and pages out."""

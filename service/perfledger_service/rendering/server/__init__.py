"""Lists of what the service's database holds."""

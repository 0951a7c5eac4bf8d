"""Lists of the contents of the service's database."""

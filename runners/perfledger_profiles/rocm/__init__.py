"""Owns the readers of rocprof's files: tables and JSON of versions 1 to 3, and rocpd."""

"""Stores reviews of quarters with their documents, as they were made."""

"""Owns price sheets: fetching, checking and comparing them."""

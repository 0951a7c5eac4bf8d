"""Tests differences for significance, and pays for interim looks and for the family of tests."""

"""Tests differences for significance, and corrects for interim looks and for the family."""

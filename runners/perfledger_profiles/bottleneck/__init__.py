"""Owns the classification of a step's bottleneck, its confidence, and the advice that follows."""

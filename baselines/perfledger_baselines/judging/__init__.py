"""Turns a bundle into verdicts: their outcomes, estimates, reasons and explanations."""

"""FOCUS bills, their allocation to teams, budget variance and commitment coverage."""

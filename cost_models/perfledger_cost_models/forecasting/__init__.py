"""Forecasts of hours and spend from past periods, with backtests."""

"""Stores commands in comments: approvals of costs and accepted regressions."""

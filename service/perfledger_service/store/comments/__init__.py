"""Stores what people command in comments: approvals of costs and accepted regressions."""

"""Sends notices to webhooks and by mail, with bounds on time, bytes and addresses."""

"""Sends notices to webhooks and by mail, with limits on time, bytes and addresses."""

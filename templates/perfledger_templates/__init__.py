"""Templates and static files, as package data: rendered by `perfledger_service.rendering` only."""

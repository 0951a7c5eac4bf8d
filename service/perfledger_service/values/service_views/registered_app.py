"""Describes a GitHub App that was registered."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisteredApp:
    """A new GitHub App, without its secrets."""

    id: int
    name: str
    url: str
    client_id: str

    @property
    def installation_url(self) -> str:
        """Return GitHub's page that installs the App on repositories."""
        return f"{self.url}/installations/new"

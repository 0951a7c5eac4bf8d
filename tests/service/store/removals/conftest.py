"""Old checks of a project, and what retention does to them."""

from tests.service.retention_fixtures import (  # noqa: F401 - fixtures
    count,
    history,
    prune,
    removed_parts,
)

"""How much is stored of each class, and how much of it would go."""

import pytest

from perfledger_service.values.storage.retention import RetentionClass, UploadPart
from tests.service.retention_history import (
    KEPT_DAYS,
    rows_by_class,
)

pytestmark = pytest.mark.slow


def test_a_dry_run_tells_what_would_go_and_removes_nothing(history, prune, removed_parts):
    upload, _ = history({"ratio": 1.0}, {"ratio": 1.0})

    would_go = prune(is_dry_run=True)

    assert removed_parts(upload) == set()
    went = prune()
    for before, after in zip(would_go.rows, went.rows, strict=True):
        assert before.stored == after.stored
        assert before.kept_days == after.kept_days == KEPT_DAYS
    of_branch = rows_by_class(would_go)[RetentionClass.BRANCH]
    assert of_branch.removed == rows_by_class(went)[RetentionClass.BRANCH].removed
    assert of_branch.removed.rows > 0
    assert removed_parts(upload) == set(UploadPart)
    assert all(row.removed.rows == 0 for row in prune(is_dry_run=True).rows)

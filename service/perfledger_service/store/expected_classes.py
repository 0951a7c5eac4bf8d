"""Stores the machine classes that have to report on a pull request's head."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

import msgspec
from sqlalchemy import func, update
from sqlmodel import Session, col, select

from perfledger.registration.workload_pattern import is_match
from perfledger_service.store.tables import ExpectedClassRow, ProjectRow, add_if_new
from perfledger_service.store.uploads import CheckedHead


@dataclass(frozen=True, slots=True)
class ExpectedClass:
    """A machine class (a pattern) that has to report until its deadline."""

    machine_class: str
    deadline: datetime


_EXPECTED_CLASS_DECODER = msgspec.json.Decoder(ExpectedClass)
_HEAD_DECODER = msgspec.json.Decoder(CheckedHead)


def add_expected_classes(
    session: Session, head: CheckedHead, machine_classes: Sequence[str], *, deadline: datetime
) -> None:
    """Store the classes that have to report on a head; one already stored is left as it is."""
    for machine_class in machine_classes:
        values = {
            "project_id": head.project_id,
            "pull_request": head.pull_request,
            "head_sha": head.head_sha,
            "machine_class": machine_class,
            "deadline": deadline,
        }
        add_if_new(session, ExpectedClassRow, values)


def expect_again(
    session: Session, head: CheckedHead, machine_classes: Collection[str], *, deadline: datetime
) -> None:
    """Give classes that reported on a head until a new deadline to report again."""
    expected = expected_classes(session, head)
    is_of_head = (
        col(ExpectedClassRow.project_id) == head.project_id,
        col(ExpectedClassRow.pull_request) == head.pull_request,
        col(ExpectedClassRow.head_sha) == head.head_sha,
    )
    patterns = [
        one.machine_class
        for one in expected
        if any(is_match(one.machine_class, each) for each in machine_classes)
    ]
    session.exec(
        update(ExpectedClassRow)
        .where(*is_of_head, col(ExpectedClassRow.machine_class).in_(patterns))
        .values(deadline=deadline)
    )
    new_classes = [
        one for one in machine_classes if not any(is_match(each, one) for each in patterns)
    ]
    add_expected_classes(session, head, new_classes, deadline=deadline)


def count_heads(session: Session, project_id: int, *, since: datetime) -> int:
    """Return the number of a project's heads with a deadline after `since`."""
    heads = (
        select(ExpectedClassRow.pull_request, ExpectedClassRow.head_sha)
        .where(
            col(ExpectedClassRow.project_id) == project_id, col(ExpectedClassRow.deadline) > since
        )
        .distinct()
        .subquery()
    )
    return session.exec(select(func.count()).select_from(heads)).one()


def expected_classes(session: Session, head: CheckedHead) -> tuple[ExpectedClass, ...]:
    """Return the classes that have to report on a head, in the order in which they were added."""
    rows = session.exec(
        select(ExpectedClassRow)
        .where(
            col(ExpectedClassRow.project_id) == head.project_id,
            col(ExpectedClassRow.pull_request) == head.pull_request,
            col(ExpectedClassRow.head_sha) == head.head_sha,
        )
        .order_by(col(ExpectedClassRow.id))
    )
    return tuple(row.to_value(_EXPECTED_CLASS_DECODER) for row in rows)


def missing_classes(
    expected: Iterable[ExpectedClass], arrived: Collection[str]
) -> tuple[ExpectedClass, ...]:
    """Return the expected classes that no arrived class matches."""
    return tuple(
        one for one in expected if not any(is_match(one.machine_class, each) for each in arrived)
    )


def heads_with_deadlines(
    session: Session, *, since: datetime
) -> tuple[tuple[CheckedHead, datetime], ...]:
    """Return the heads whose classes have a deadline after `since`, once per deadline."""
    rows = session.exec(
        select(ExpectedClassRow, ProjectRow.repository)
        .join(ProjectRow)
        .where(col(ExpectedClassRow.deadline) > since)
        .order_by(col(ExpectedClassRow.deadline), col(ExpectedClassRow.id))
    )
    deadlines = (
        (row.to_value(_HEAD_DECODER, repository=repository), row.deadline)
        for row, repository in rows
    )
    return tuple(dict.fromkeys(deadlines))

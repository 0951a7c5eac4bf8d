"""Presents an announced check."""

from perfledger.records import short_sha
from perfledger_runners.bundles.check_announcement import AnnouncedCheck, AnnouncedClass
from perfledger_service.rendering.layout import number_format
from perfledger_service.rendering.layout.document import (
    Column,
    Document,
    Preformatted,
    name,
    table,
)
from perfledger_service.rendering.layout.escape import MAX_LONG_NAME

_COLUMNS: tuple[Column[AnnouncedClass], ...] = (
    name("machine_class", "machine class", lambda one: one.machine_class, limit=MAX_LONG_NAME),
    name(
        "deadline",
        "deadline",
        lambda one: one.deadline.isoformat(),
        show=lambda one: number_format.moment(one.deadline),
    ),
)


def announced_document(announced: AnnouncedCheck) -> Document:
    """Return the machine classes that must report on a pull request's head."""
    head = short_sha(announced.head_sha)
    number = announced.pull_request
    subject = f"{announced.repository}#{number}"
    if number is None:
        subject = f"a merge group of {announced.repository}"
    sentence = f"A check of {subject} at {head} is announced. These machine classes must report:"
    return Document(
        name="perfledger-announced-check",
        facts={
            "repository": announced.repository,
            "pull_request": announced.pull_request,
            "head_sha": announced.head_sha,
        },
        blocks=(Preformatted(sentence), table(_COLUMNS, announced.classes, key="classes")),
    )

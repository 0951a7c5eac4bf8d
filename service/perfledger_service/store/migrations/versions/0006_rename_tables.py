"""Tables, columns and stored values with the names that the code uses.

Revision: 0006, after 0005.
"""

import re
from collections.abc import Mapping, Sequence
from typing import cast

import msgspec
import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None

# Old and new names of tables, and of columns by the table's new name.
_TABLES = (
    ("env", "environment"),
    ("spread", "pair_spread"),
    ("said", "github_post"),
    ("docket", "confirmation_state"),
    ("imported", "imported_file"),
)
_COLUMNS = (
    ("upload", "env_hash", "environment_hash"),
    ("revision", "pos", "position"),
    ("revision", "place", "branch_position"),
    ("observation", "pos", "position"),
    ("verdict", "place", "position"),
    ("approval", "said_at", "approved_at"),
)
# Constraints and indexes by table; their names follow from those of tables and columns.
_CONSTRAINTS = {
    "environment": (("pk_env", "pk_environment"),),
    "upload": (("fk_upload_env_hash_env", "fk_upload_environment_hash_environment"),),
    "revision": (("uq_revision_project_id_place", "uq_revision_project_id_branch_position"),),
    "pair_spread": (
        ("pk_spread", "pk_pair_spread"),
        ("fk_spread_series_id_series", "fk_pair_spread_series_id_series"),
        ("fk_spread_upload_id_upload", "fk_pair_spread_upload_id_upload"),
        ("uq_spread_upload_id_series_id", "uq_pair_spread_upload_id_series_id"),
    ),
    "github_post": (
        ("pk_said", "pk_github_post"),
        ("fk_said_project_id_project", "fk_github_post_project_id_project"),
        ("fk_said_upload_id_upload", "fk_github_post_upload_id_upload"),
        (
            "uq_said_project_id_pull_request_head_sha",
            "uq_github_post_project_id_pull_request_head_sha",
        ),
    ),
    "confirmation_state": (
        ("pk_docket", "pk_confirmation_state"),
        ("fk_docket_project_id_project", "fk_confirmation_state_project_id_project"),
    ),
    "imported_file": (
        ("pk_imported", "pk_imported_file"),
        ("uq_imported_kind_source_sha256", "uq_imported_file_kind_source_sha256"),
    ),
}
_INDEXES = {"pair_spread": (("ix_spread_series_id", "ix_pair_spread_series_id"),)}
# Counters that PostgreSQL named after their tables.
_SEQUENCES = (
    ("spread_id_seq", "pair_spread_id_seq"),
    ("said_id_seq", "github_post_id_seq"),
    ("imported_id_seq", "imported_file_id_seq"),
)
# Fields of the MessagePack in confirmation_state.content and alert.content. No other field in them
# has one of these names.
_FIELDS = {
    "trials": "pending_confirmations",
    "searches": "bisections",
    "settled": "answered_candidates",
    "suspected": "suspected_range",
    "suspicions": "candidates",
    "suspicion": "candidate",
    "leaning": "log_likelihood_ratio",
}
_STATUS = sa.text("update upload set status = :new where status = :old")


def upgrade() -> None:
    """Rename tables, columns, constraints and stored values."""
    for table, old, new in _COLUMNS:
        _rename_column(table, old, new)
    for old, new in _TABLES:
        op.rename_table(old, new)
    for table, names in _CONSTRAINTS.items():
        _rename_constraints(table, names, _INDEXES.get(table, ()))
    _rename_sequences(_SEQUENCES)
    op.get_bind().execute(_STATUS, {"old": "said", "new": "posted"})
    _rename_fields(_FIELDS)


def _rename_column(table: str, old: str, new: str) -> None:
    # Not by batch: SQLite renames without copying, and a copied observation would have row ids.
    op.execute(f"alter table {table} rename column {old} to {new}")


def _rename_sequences(names: Sequence[tuple[str, str]]) -> None:
    if op.get_bind().dialect.name == "postgresql":
        for old, new in names:
            op.execute(f"alter sequence {old} rename to {new}")


def _rename_constraints(
    table: str, names: Sequence[tuple[str, str]], indexes: Sequence[tuple[str, str]]
) -> None:
    if op.get_bind().dialect.name == "postgresql":
        for old, new in names:
            op.execute(f"alter table {table} rename constraint {old} to {new}")
        for old, new in indexes:
            op.execute(f"alter index {old} rename to {new}")
    else:
        _rebuild(table, dict([*names, *indexes]))


def _rebuild(table: str, names: Mapping[str, str]) -> None:
    """Create a SQLite table again, the same but for the names of constraints and indexes."""
    connection = op.get_bind()
    statements = connection.execute(
        sa.text(
            "select type, sql from sqlite_master where tbl_name = :table and sql is not null "
            "order by type = 'index'"
        ),
        {"table": table},
    ).all()
    (_, create), *indexes = [(kind, _renamed(sql, names)) for kind, sql in statements]
    copy = f"{table}_copy"
    connection.exec_driver_sql(
        re.sub(rf'^create table "?{table}"?', f"create table {copy}", create, flags=re.I)
    )
    connection.exec_driver_sql(f"insert into {copy} select * from {table}")
    connection.exec_driver_sql(f"drop table {table}")
    connection.exec_driver_sql(f"alter table {copy} rename to {table}")
    for _, sql in indexes:
        connection.exec_driver_sql(sql)


def _renamed(sql: str, names: Mapping[str, str]) -> str:
    return re.sub(r"\w+", lambda word: names.get(word[0], word[0]), sql)


def _rename_fields(names: Mapping[str, str]) -> None:
    connection = op.get_bind()
    for table, key in (("confirmation_state", "project_id"), ("alert", "id")):
        rows = connection.execute(sa.text(f"select {key}, content from {table}")).all()
        for row, content in rows:
            document = _with_fields(msgspec.msgpack.decode(content), names)
            connection.execute(
                sa.text(f"update {table} set content = :content where {key} = :row"),
                {"row": row, "content": msgspec.msgpack.encode(document)},
            )


def _with_fields(document: object, names: Mapping[str, str]) -> object:
    match document:
        case dict():
            fields = cast("Mapping[str, object]", document)
            return {names.get(key, key): _with_fields(part, names) for key, part in fields.items()}
        case list():
            return [_with_fields(part, names) for part in cast("Sequence[object]", document)]
        case _:
            return document

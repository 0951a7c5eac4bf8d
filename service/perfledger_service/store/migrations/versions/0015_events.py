"""Events with their states, and what happened to them.

Revision: 0015, after 0014.
"""

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the tables so; the history of every project that has one is to be searched."""
    op.create_table(
        "tracked_event",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("project_id", sa.Integer(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("until", sa.Date(), nullable=True),
        sa.Column("pull_request", sa.Integer(), nullable=True),
        sa.Column("opened_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("changed_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("content", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(
            ["project_id"], ["project.id"], name=op.f("fk_tracked_event_project_id_project")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_tracked_event")),
    )
    op.create_index(op.f("ix_tracked_event_project_id"), "tracked_event", ["project_id", "state"])
    op.create_table(
        "event_note",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("event_id", sa.Integer(), nullable=False),
        sa.Column("noted_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("author", sa.String(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("note", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["event_id"], ["tracked_event.id"], name=op.f("fk_event_note_event_id_tracked_event")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_event_note")),
    )
    op.create_index(op.f("ix_event_note_event_id"), "event_note", ["event_id"])
    op.create_table(
        "event_search",
        sa.Column("project_id", sa.Integer(), nullable=False),
        sa.Column("changes", sa.Integer(), nullable=False),
        sa.Column("searched", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(
            ["project_id"], ["project.id"], name=op.f("fk_event_search_project_id_project")
        ),
        sa.PrimaryKeyConstraint("project_id", name=op.f("pk_event_search")),
    )
    op.create_table(
        "merge",
        sa.Column("project_id", sa.Integer(), nullable=False),
        sa.Column("pull_request", sa.Integer(), nullable=False),
        sa.Column("merged_sha", sa.String(), nullable=False),
        sa.ForeignKeyConstraint(
            ["project_id"], ["project.id"], name=op.f("fk_merge_project_id_project")
        ),
        sa.PrimaryKeyConstraint("project_id", "pull_request", name=op.f("pk_merge")),
    )
    op.execute(
        "insert into merge (project_id, pull_request, merged_sha) "
        "select project_id, pull_request, max(merged_sha) from acceptance "
        "where merged_sha <> '' group by project_id, pull_request"
    )
    op.execute(
        "insert into event_search (project_id, changes, searched) "
        "select distinct project_id, 1, 0 from branch_commit"
    )

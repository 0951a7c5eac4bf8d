"""The default branch's commits, what is suspected of them, and what A/Bs bore out.

Revision: 0003, after 0002.
"""

from collections import Counter

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

# Every base is a commit of the default branch, and so is the head of a check without a pull request.
_BRANCH = """
    select distinct revision.project_id, revision.pos from revision
    join upload on upload.project_id = revision.project_id and (
        upload.base_sha = revision.sha
        or (upload.head_sha = revision.sha and upload.pull_request is null))
    where upload.status in ('judged', 'said') order by revision.project_id, revision.pos"""
_PLACE = "update revision set place = :place where project_id = :project_id and pos = :pos"


def upgrade() -> None:
    """Apply the migration."""
    with op.batch_alter_table("revision", schema=None) as batch_op:
        batch_op.add_column(sa.Column("place", sa.Integer(), nullable=True))
    _fill_places()
    with op.batch_alter_table("revision", schema=None) as batch_op:
        batch_op.create_unique_constraint(
            batch_op.f("uq_revision_project_id_place"), ["project_id", "place"]
        )
    op.create_table(
        "docket",
        sa.Column("project_id", sa.Integer(), nullable=False),
        sa.Column("content", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(
            ["project_id"], ["project.id"], name=op.f("fk_docket_project_id_project")
        ),
        sa.PrimaryKeyConstraint("project_id", name=op.f("pk_docket")),
    )
    op.create_table(
        "alert",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("project_id", sa.Integer(), nullable=False),
        sa.Column("upload_id", sa.String(), nullable=False),
        sa.Column("content", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(
            ["project_id"], ["project.id"], name=op.f("fk_alert_project_id_project")
        ),
        sa.ForeignKeyConstraint(
            ["upload_id"], ["upload.id"], name=op.f("fk_alert_upload_id_upload")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_alert")),
    )
    with op.batch_alter_table("alert", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_alert_project_id"), ["project_id"], unique=False)


def _fill_places() -> None:
    """Count the commits of each project's default branch, in the order in which they were seen."""
    connection = op.get_bind()
    following: Counter[int] = Counter()
    for project_id, pos in connection.execute(sa.text(_BRANCH)).all():
        place = {"project_id": project_id, "pos": pos, "place": following[project_id]}
        connection.execute(sa.text(_PLACE), place)
        following[project_id] += 1

"""The default branch's commits in the order of its history, by a trusted word.

Revision: 0009, after 0008. Until now bundles said which commits are on the branch, and the order of
arrival was taken for its order. Their word stays as a claim. The next upload, or `perfledger server
reorder`, reads the branch's commits from GitHub or a clone; what was suspected is searched again.
"""

from typing import Any, cast

import msgspec
import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None

_COMMITS = sa.text(
    "select project_id, branch_position, sha from revision where branch_position is not null"
)
_ALERT = sa.text("update alert set after_sha = :after, last_sha = :last where id = :id")


def upgrade() -> None:
    """Keep the order so far only where alerts name commits by it."""
    op.create_table(
        "branch_commit",
        sa.Column("project_id", sa.Integer(), nullable=False),
        sa.Column("place", sa.Integer(), nullable=False),
        sa.Column("sha", sa.String(), nullable=False),
        sa.ForeignKeyConstraint(
            ["project_id"], ["project.id"], name=op.f("fk_branch_commit_project_id_project")
        ),
        sa.PrimaryKeyConstraint("project_id", "place", name=op.f("pk_branch_commit")),
        sa.UniqueConstraint("project_id", "sha", name=op.f("uq_branch_commit_project_id_sha")),
    )
    _add_flag("project", "trust_runners")
    _add_flag("revision", "is_claimed")
    op.execute("update revision set is_claimed = true where branch_position is not null")
    for name in ("after_sha", "last_sha"):
        op.add_column("alert", sa.Column(name, sa.String(), nullable=False, server_default=""))
    _name_commits()
    op.execute("delete from confirmation_state")
    with op.batch_alter_table("revision", schema=None) as batch_op:
        batch_op.drop_constraint(op.f("uq_revision_project_id_branch_position"), type_="unique")
        batch_op.drop_column("branch_position")


def _add_flag(table: str, name: str) -> None:
    column = sa.Column(name, sa.Boolean(), nullable=False, server_default=sa.false())
    op.add_column(table, column)


def _name_commits() -> None:
    """Give alerts the hashes of the commits that they name by numbers."""
    connection = op.get_bind()
    shas = {(project, place): sha for project, place, sha in connection.execute(_COMMITS).all()}
    alerts = connection.execute(sa.text("select id, project_id, content from alert")).all()
    for alert_id, project, content in alerts:
        commits = cast("dict[str, Any]", msgspec.msgpack.decode(content))["commits"]
        names = {
            "after": shas.get((project, commits["first"] - 1), ""),
            "last": shas.get((project, commits["last"]), ""),
        }
        connection.execute(_ALERT, {"id": alert_id, **names})

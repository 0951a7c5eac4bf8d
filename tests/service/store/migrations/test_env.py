"""A new migration as Alembic writes it from our tables."""

from alembic.autogenerate import produce_migrations, render_python_code
from alembic.config import Config
from alembic.runtime.environment import EnvironmentContext
from alembic.script import ScriptDirectory


def written_migration(engine):
    """Return the code of the migration that makes an empty database have our tables."""
    config = Config()
    config.set_main_option("script_location", "perfledger_service.store:migrations")
    config.set_main_option("path_separator", "os")
    script = ScriptDirectory.from_config(config)
    written = []

    def write(_, context):
        operations = produce_migrations(context, context.opts["target_metadata"]).upgrade_ops
        options = {name: context.opts[name] for name in ("render_as_batch", "render_item")}
        written.append(render_python_code(operations, **options))
        return []

    with engine.connect() as connection:
        config.attributes["connection"] = connection
        with EnvironmentContext(config, script, fn=write):
            script.run_env()
    return written[0]


def test_a_migration_needs_nothing_of_our_code(empty_engine):
    code = written_migration(empty_engine)

    assert "op.create_table('upload'" in code
    assert "sa.Column('created_at', sa.DateTime(timezone=True), nullable=False)" in code
    assert "sa.Column('repository', sa.String(), nullable=False)" in code
    assert "sa.Column('reason', sa.Text(), nullable=False)" in code
    assert not any(name in code for name in ("UtcTime", "AutoString", "sqlmodel", "perfledger"))

"""What Alembic runs: the migrations, inside the transaction that is handed over."""

from alembic import context

from duelist.study.storage.sql.tables import VERSION_TABLE, metadata

context.configure(
    connection=context.config.attributes["connection"], target_metadata=metadata, version_table=VERSION_TABLE
)
with context.begin_transaction():
    context.run_migrations()

"""How `perfledger server run` begins; that it answers is shown with the examples of its help."""

import pytest

from perfledger_service.errors import SettingsError


@pytest.mark.usefixtures("log")  # the command configures the logging of the whole process
def test_a_database_that_is_not_upgraded_is_refused_with_the_command(run, tmp_path):
    url = f"sqlite:///{tmp_path / 'service.db'}"

    with pytest.raises(SettingsError, match="run `perfledger server db upgrade`"):
        run("server", "run", "--port", 0, PERFLEDGER_DATABASE_URL=url)

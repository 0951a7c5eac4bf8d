import pytest

from perfledger_service.cli.server_modules import server_modules
from perfledger_service.errors import PerfledgerError


def test_a_missing_server_module_says_what_to_install():
    with pytest.raises(PerfledgerError, match="perfledger\\[service\\]"), server_modules():
        raise ModuleNotFoundError(name="fastapi")


def test_a_missing_module_of_our_own_is_a_bug():
    with pytest.raises(ModuleNotFoundError), server_modules():
        raise ModuleNotFoundError(name="perfledger_service.web.server")

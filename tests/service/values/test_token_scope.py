import pytest

from perfledger_service.values.token_scope import TokenScope


@pytest.mark.parametrize("scope", TokenScope)
def test_every_token_may_read_and_do_what_it_is_for_alone(scope):
    assert {one for one in TokenScope if scope.includes(one)} == {TokenScope.READ, scope}

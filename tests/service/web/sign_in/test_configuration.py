from datetime import timedelta
from ipaddress import ip_network

import pytest
from pydantic import SecretStr

from perfledger_service.errors import SettingsError
from perfledger_service.settings.service import ServiceSettings
from perfledger_service.web.sign_in.configuration import proxy_networks, sign_in_options

SECRET = SecretStr("canary-secret")
GITHUB = {"github_client_id": "Iv1.a", "github_client_secret": SECRET}
PROXY = {"proxy_header": "X-User", "proxy_addresses": "10.0.0.1, 2001:db8::/64,"}


def options_of(**values):
    defaults = {"github_client_id": "", "github_client_secret": None}
    return sign_in_options(ServiceSettings(**defaults | values))


def test_without_settings_nobody_signs_in():
    assert options_of() is None


def test_an_apps_client_signs_people_in_at_its_github():
    options = options_of(
        **GITHUB,
        github_api_url="https://ghe.example/api/v3",
        public_url="https://ledger.example/",
        public_read=True,
    )

    assert options is not None
    assert options.github is not None
    url = options.github.authorize_url(state="s", challenge="c")
    assert url.startswith("https://ghe.example/login/oauth/authorize?client_id=Iv1.a&")
    assert "redirect_uri=https%3A%2F%2Fledger.example%2Fsign-in%2Fcallback" in url
    assert "canary-secret" not in f"{url} {options}"
    assert (options.idle, options.lifetime) == (timedelta(hours=12), timedelta(days=7))
    assert options.is_public


def test_a_proxy_has_a_header_and_addresses():
    options = options_of(**PROXY, session_idle_hours=1, session_days=2)

    assert options is not None
    assert options.github is None
    assert options.proxy_addresses == (ip_network("10.0.0.1"), ip_network("2001:db8::/64"))
    assert (options.idle, options.lifetime) == (timedelta(hours=1), timedelta(days=2))


def test_a_proxy_without_a_header_only_says_where_requests_come_from():
    addresses = {"proxy_addresses": "10.0.0.1"}

    assert options_of(**addresses) is None
    with_github = options_of(**GITHUB, **addresses)
    assert with_github is not None
    assert with_github.github is not None
    settings = ServiceSettings.model_validate(addresses)
    assert proxy_networks(settings) == (ip_network("10.0.0.1"),)


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        ({"github_client_id": "Iv1.a"}, "set PERFLEDGER_GITHUB_CLIENT_SECRET"),
        ({"github_client_secret": SECRET}, "set PERFLEDGER_GITHUB_CLIENT_ID"),
        ({"proxy_header": "X-User"}, "set PERFLEDGER_PROXY_ADDRESSES"),
        ({"proxy_addresses": "proxy.example"}, "PERFLEDGER_PROXY_ADDRESSES is wrong"),
        (GITHUB | PROXY, "with GitHub or at the proxy"),
        (PROXY | {"proxy_addresses": "10.0.0.1/8"}, "PERFLEDGER_PROXY_ADDRESSES is wrong"),
        (PROXY | {"proxy_addresses": "proxy.example"}, "PERFLEDGER_PROXY_ADDRESSES is wrong"),
        (PROXY | {"proxy_header": "X User"}, "cannot name a person"),
        (PROXY | {"proxy_header": "Cookie"}, "cannot name a person"),
        (PROXY | {"proxy_header": "X-Forwarded-For"}, "cannot name a person"),
    ],
)
def test_half_a_set_up_is_refused_at_the_start(values, problem):
    with pytest.raises(SettingsError, match=problem):
        options_of(**values)

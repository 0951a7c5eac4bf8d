import anyio
import pytest
from prometheus_client import CollectorRegistry

from perfledger_service.web.metrics.request_times import RequestTimes, route_of


class Route:
    path = "/runs/{upload_id}"


async def answering(scope, _, send):
    scope["route"] = Route
    await send({"type": "http.response.start", "status": 204, "headers": []})
    await send({"type": "http.response.body", "body": b""})


async def failing(*_):
    raise ZeroDivisionError


async def nothing(*_):
    pass


def requested(app, **scope):
    """Send one request that takes 0.3 s, and return the registry."""
    registry = CollectorRegistry()
    times = iter([1.0, 1.3])
    middleware = RequestTimes(app, registry=registry, clock=lambda: next(times))
    anyio.run(middleware, {"type": "http", "method": "GET"} | scope, nothing, nothing)
    return registry


def test_a_request_counts_in_the_bucket_of_its_time():
    registry = requested(answering)
    labels = {"method": "GET", "route": "/runs/{upload_id}", "status": "2xx"}
    name = "perfledger_request_seconds"

    assert registry.get_sample_value(f"{name}_count", labels) == 1
    assert registry.get_sample_value(f"{name}_sum", labels) == pytest.approx(0.3)
    assert registry.get_sample_value(f"{name}_bucket", labels | {"le": "0.25"}) == 0
    assert registry.get_sample_value(f"{name}_bucket", labels | {"le": "0.5"}) == 1


def test_a_bug_counts_as_a_failure_of_the_server():
    registry = CollectorRegistry()
    middleware = RequestTimes(failing, registry=registry)
    with pytest.raises(ZeroDivisionError):
        anyio.run(middleware, {"type": "http", "method": "BREW"}, nothing, nothing)

    labels = {"method": "other", "route": "none", "status": "5xx"}
    assert registry.get_sample_value("perfledger_request_seconds_count", labels) == 1


def test_what_is_no_request_is_passed_on_and_not_measured():
    async def lifespan(*request):
        assert request[0]["type"] == "lifespan"

    registry = CollectorRegistry()
    anyio.run(RequestTimes(lifespan, registry=registry), {"type": "lifespan"}, nothing, nothing)

    assert [family.samples for family in registry.collect()] == [[]]


@pytest.mark.parametrize("scope", [{}, {"route": None}, {"route": object()}])
def test_a_request_without_a_route_has_none(scope):
    assert route_of(scope) == "none"

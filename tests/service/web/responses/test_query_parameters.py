"""A misspelt query parameter is an error that lists the known ones, and never ignored."""

import pytest
from fastapi.routing import APIRoute, iter_route_contexts

from perfledger_service.web.app import service_routes
from perfledger_service.web.responses.query_parameters import FROM_GITHUB, parameter_names

TOKEN = "pl_0123abcd_" + "s" * 43


@pytest.mark.parametrize(
    ("path", "detail"),
    [
        ("/api/v1/priors?machine_clas=x", "machine_clas: unknown parameter: use machine_class"),
        (
            "/api/v1/series?metrics=x&limit=1",
            (
                "metrics: unknown parameter: use cursor, limit, machine_class, metric, on_branch, "
                "workload"
            ),
        ),
        (
            "/api/v1/devices?state=x&of=y&of=z",
            (
                "state: unknown parameter: leave it out, as this page has none; of: unknown "
                "parameter: leave it out, as this page has none"
            ),
        ),
    ],
)
def test_an_unknown_parameter_is_refused_and_the_known_ones_are_listed(site, path, detail):
    answer = site.get(path, token=TOKEN)

    assert answer.status_code == 422
    assert answer.json()["detail"] == f"the request is invalid: {detail}"


def test_a_page_refuses_an_unknown_parameter_too(site):
    answer = site.get("/search?q=gpt&pages=2")

    assert answer.status_code == 422
    assert "pages: unknown parameter: use format, q" in answer.text


def test_known_parameters_are_accepted(site):
    assert site.get("/api/v1/series?limit=1&metric=x", token=TOKEN).status_code == 200
    assert site.get("/search?q=gpt").status_code == 200


def test_what_mail_programs_add_to_a_link_is_ignored(site):
    assert site.get("/search?q=gpt&utm_source=mail").status_code == 200


def test_what_github_adds_to_its_callback_is_ignored(site):
    answer = site.get("/sign-in/callback?iss=https://github.com/login/oauth")

    assert answer.status_code != 422


def test_every_route_checks_its_parameters():
    contexts = [
        context
        for context in iter_route_contexts(service_routes())
        if isinstance(context.original_route, APIRoute)
    ]

    assert all(
        "refuse_unknown_parameters"
        in [dependency.call.__name__ for dependency in context.dependant.dependencies]
        for context in contexts
    )
    assert {context.path for context in contexts} >= FROM_GITHUB


def test_the_names_of_a_route_are_those_of_its_description(site):
    operations = site.get("/api/openapi.json").json()["paths"]
    routes = {
        context.path: context.original_route
        for context in iter_route_contexts(service_routes())
        if isinstance(context.original_route, APIRoute)
        and "GET" in (context.original_route.methods or ())
    }

    described = {
        path: {each["name"] for each in item["get"].get("parameters", ()) if each["in"] == "query"}
        for path, item in operations.items()
        if "get" in item
    }

    assert {path: set(parameter_names(routes[path])) for path in described} == described

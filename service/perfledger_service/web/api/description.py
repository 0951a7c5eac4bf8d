"""Completes the OpenAPI description: every error of every route with its media type."""

from collections.abc import Iterator
from typing import Any, Final

from fastapi import FastAPI

from perfledger_service.web.responses.problems import PROBLEM_MEDIA_TYPE, Problem

API: Final = "/api/"
FIRST_ERROR: Final = 400
_PROBLEM = {"$ref": "#/components/schemas/Problem"}
_FASTAPIS_OWN = ("HTTPValidationError", "ValidationError")
_EVERYWHERE = {
    "421": "sent to a name that is not the service's",
    "422": "a query or a body that does not match this description",
    "500": "an internal error of the service",
    "503": "the database does not answer or is full: try again after Retry-After",
}
_WITH_BODY = {"400": "a body that cannot be read", "413": "more bytes than the limit"}
_WITH_PATH = {"404": "no such resource"}


def complete_description(app: FastAPI) -> None:
    """Make an application's OpenAPI description list its errors."""
    generate = app.openapi

    def described() -> dict[str, Any]:
        if app.openapi_schema is None:
            _complete(generate())
        return generate()  # kept since the first time

    app.openapi = described  # type: ignore[method-assign]  # FastAPI's own way to extend it


def _complete(document: dict[str, Any]) -> None:
    schemas = document["components"]["schemas"]
    for name in _FASTAPIS_OWN:
        schemas.pop(name, None)
    schemas["Problem"] = Problem.model_json_schema()
    for path, operation in _operations(document):
        if path.startswith(API):
            _describe_problems(path, operation)
        else:
            _describe_texts(operation["responses"])


def _describe_problems(path: str, operation: dict[str, Any]) -> None:
    """Describe the errors of a route of the API, including those that every such route has."""
    responses = operation["responses"]
    expected = dict(_EVERYWHERE)
    if "requestBody" in operation:
        expected |= _WITH_BODY
    if "{" in path:
        expected |= _WITH_PATH
    for status, description in expected.items():
        responses.setdefault(status, {"description": description})
    responses["422"]["description"] = _EVERYWHERE["422"]
    for status, response in responses.items():
        if int(status) >= FIRST_ERROR:
            response["content"] = {PROBLEM_MEDIA_TYPE: {"schema": _PROBLEM}}


def _describe_texts(responses: dict[str, Any]) -> None:
    """Describe the errors of routes outside the API, which are one sentence of plain text."""
    for response in responses.values():
        schema = response.get("content", {}).get("application/json", {}).get("schema")
        if schema == _PROBLEM:
            response["content"] = {"text/plain": {"schema": {"type": "string"}}}


def _operations(document: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for path, operations in document["paths"].items():
        for operation in operations.values():
            yield path, operation

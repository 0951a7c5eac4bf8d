"""Tests that the API answers as its OpenAPI description says, whatever it is asked."""

import json
from urllib.parse import quote

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from jsonschema import Draft202012Validator

from tests.suite.tries import IS_CI

TOKEN = "pl_0123abcd_" + "s" * 43
NO_BODY = 304
REQUESTS = 80 if IS_CI else 5  # to each operation
# What the service makes of a text is no matter of its alphabet: these are the hostile ones.
TEXTS = st.text(max_size=20) | st.sampled_from(("\0", "é", "%", "'; --", "\ud800", "1" * 400))
NUMBERS = st.integers(-(2**70), 2**70) | st.integers(0, 3)
JSON = st.recursive(
    st.none() | st.booleans() | NUMBERS | st.floats() | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)


@pytest.fixture
def measured(site, judged, make_bundle):
    judged(site.engine, make_bundle(pairs=4))
    return site


@pytest.fixture
def description(measured):
    return measured.get("/api/openapi.json").json()


def operations(description):
    return [
        (method, path, operation)
        for path, methods in description["paths"].items()
        for method, operation in methods.items()
        if path.startswith("/api/")
    ]


def values_of(description, schema):
    """Return a strategy of values that fit a parameter's schema, or that do not."""
    for _ in range(3):
        schema = description["components"]["schemas"].get(
            schema.get("$ref", "").rpartition("/")[2], schema
        )
        schema = next((one for one in schema.get("anyOf", ()) if one != {"type": "null"}), schema)
        schema = schema.get("items", schema)
    fitting = [NUMBERS.map(str), TEXTS]
    if "enum" in schema:
        fitting.append(st.sampled_from(schema["enum"]))
    if "pattern" in schema:
        fitting.append(st.sampled_from(("1" * 32, "b" * 40)))
    return st.one_of(fitting)


@st.composite
def requests(draw, description, path, operation):
    """Draw a request of an operation: its parameters, its body, and whether it has a token."""
    query = []
    for parameter in operation.get("parameters", ()):
        value = draw(values_of(description, parameter["schema"]))
        text = quote(value.encode(errors="surrogatepass"), safe="")
        if parameter["in"] == "path":
            path = path.replace(f"{{{parameter['name']}}}", text or "1")
        elif draw(st.booleans()):
            query.append(f"{parameter['name']}={text}")
    body = draw(st.binary(max_size=50) | JSON.map(lambda value: json.dumps(value).encode()))
    content = body if "requestBody" in operation else None
    url = f"{path}?{'&'.join(query)}" if query else path
    return url, content, draw(st.integers(0, 5)) > 0


def check_answer(description, operation, answer):
    """Fail if an answer is not one that an operation describes."""
    responses = operation["responses"]
    assert str(answer.status_code) in responses, (answer.status_code, answer.text)
    assert answer.status_code < 500, answer.text
    if answer.status_code == NO_BODY:
        assert answer.content == b""
        return
    media_type = answer.headers["content-type"].partition(";")[0]
    schema = responses[str(answer.status_code)]["content"][media_type]["schema"]
    whole_schema = schema | {"components": description["components"]}
    Draft202012Validator(whole_schema).validate(answer.json())


@pytest.mark.slow(ci_only=True)
def test_every_answer_is_one_that_is_described(measured, description):
    for method, path, operation in operations(description):
        ask(measured, description, method, path, operation)


def ask(site, description, method, path, operation):
    """Send requests of an operation, and check each answer."""

    @settings(max_examples=REQUESTS, deadline=None, suppress_health_check=list(HealthCheck))
    @given(requests(description, path, operation))
    def send(request):
        url, content, has_token = request
        headers = {"Content-Type": "application/json"}
        if has_token:
            headers["Authorization"] = f"Bearer {TOKEN}"
        answer = site.client.request(method, url, content=content, headers=headers)
        check_answer(description, operation, answer)

    send()


@pytest.mark.slow(ci_only=True)
def test_every_error_of_the_api_is_described_as_a_problem_document(description):
    for _, path, operation in operations(description):
        for status in ("421", "422", "500"):
            assert status in operation["responses"], path
        for status, response in operation["responses"].items():
            if int(status) >= 400:
                assert list(response["content"]) == ["application/problem+json"]
    assert "HTTPValidationError" not in description["components"]["schemas"]


@pytest.mark.slow(ci_only=True)
def test_errors_outside_the_api_are_described_as_text(description):
    refused = description["paths"]["/webhooks/github"]["post"]["responses"]["401"]

    assert list(refused["content"]) == ["text/plain"]


@pytest.mark.slow(ci_only=True)
def test_every_answer_has_a_model(description):
    for _, path, operation in operations(description):
        [good] = [one for status, one in operation["responses"].items() if status[0] == "2"]
        assert good["content"]["application/json"]["schema"], path


@pytest.mark.slow(ci_only=True)
def test_the_description_is_the_same_each_time(measured, description):
    assert measured.get("/api/openapi.json").json() == description

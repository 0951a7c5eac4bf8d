"""`/api/v1/priors` over real HTTP."""

import pytest

from perfledger.metrics import STEP_TIME
from perfledger_runners.bundles.service_history import fetch_history
from perfledger_runners.bundles.service_requests import ServiceRequestError

TOKEN = "pl_0123abcd_" + "s" * 43
OTHER_TOKEN = "pl_4567cdef_" + "t" * 43
CLASS = "cpu:Test CPU:1"
ROUTE = f"/api/v1/priors?machine_class={CLASS}"


@pytest.fixture
def site_with_history(site, make_bundle):
    """A site with a history of two uploads."""
    for seed in range(2):
        site.judge(site.upload(make_bundle(seed=seed, ratio=1.0)).json()["id"])
    return site


def test_a_project_is_told_its_history(site_with_history):
    document = site_with_history.get(ROUTE, token=TOKEN).json()

    assert document["history"] > 0
    prior = next(one for one in document["priors"] if one["metric"] == STEP_TIME.name)
    assert (prior["workload"], prior["machine_class"]) == ("gpt:step", CLASS)
    assert prior["pairs"] == 12
    assert 0 < prior["variance"] < 1e-4
    assert prior["degrees"] == 10


def test_the_runner_understands_what_it_is_told(site_with_history):
    document = site_with_history.get(ROUTE, token=TOKEN).json()

    service_history = fetch_history(site_with_history.url, TOKEN, [CLASS])

    assert service_history.history == document["history"]
    assert [one.variance for one in service_history.priors] == [
        one["variance"] for one in document["priors"]
    ]


def test_another_project_is_told_nothing_of_it(site_with_history):
    assert site_with_history.get(ROUTE, token=OTHER_TOKEN).json() == {"history": 0, "priors": []}


def test_another_class_of_machine_has_no_history(site_with_history):
    service_history = fetch_history(
        site_with_history.url, TOKEN, ["cpu:Another CPU:1", "cuda:a GPU & more:8"]
    )

    assert (service_history.history, service_history.priors) == (0, ())


@pytest.mark.parametrize("token", [None, "pl_0123abcd_" + "x" * 43])
def test_nobody_is_told_without_a_token(site_with_history, token):
    answer = site_with_history.get(ROUTE, token=token)

    assert answer.status_code == 401
    assert "detail" in answer.json()


def test_a_question_about_no_class_is_about_all(site_with_history):
    assert fetch_history(site_with_history.url, TOKEN) == fetch_history(
        site_with_history.url, TOKEN, [CLASS]
    )


@pytest.mark.parametrize(
    "query", ["machine_class=a&" * 101, "machine_class=a%00b", f"machine_class={'a' * 1001}"]
)
def test_a_question_about_impossible_classes_is_invalid(site_with_history, query):
    answer = site_with_history.get(f"/api/v1/priors?{query}", token=TOKEN)

    assert answer.status_code == 422
    assert answer.json()["detail"].startswith("the request is invalid: machine_class")


def test_a_runner_with_a_wrong_token_knows_nothing(site):
    with pytest.raises(ServiceRequestError, match="the service answered 401"):
        fetch_history(site.url, "pl_0123abcd_" + "x" * 43, [CLASS])

import pytest

from perfledger_service.rendering.server.pages.search import search_document
from perfledger_service.values.service_views.search import SearchHit, SearchKind, SearchView


@pytest.mark.parametrize(
    ("kind", "name", "address"),
    [
        (SearchKind.PROJECT, "octo/models", "/octo/models"),
        (SearchKind.PULL_REQUEST, "#7", "/octo/models/pull/7"),
        (SearchKind.COMMIT, "1b2f", "/runs/" + "1" * 32),
        (SearchKind.WORKLOAD, "a b?:c", "/octo/models/workloads/a%20b%3F%3Ac"),
        (SearchKind.MACHINE_CLASS, "cuda:H100:1", "/octo/models/machines"),
        (SearchKind.RUNNER, "box", "/octo/models/machines"),
    ],
)
def test_each_kind_has_the_address_of_its_page(kind, name, address):
    hit = SearchHit(kind=kind, repository="octo/models", name=name, upload_id="1" * 32)
    [table] = search_document(SearchView(text="x", hits=(hit,))).keyed_tables

    assert table.rows[0].values[-1] == address

"""The reference of the service is what its code has."""

from pathlib import Path

import pytest

from perfledger_service.store.maintenance.service_counts import ServiceCounts
from perfledger_service.web.app import service_routes
from perfledger_service.web.delivery_documents import WebhookEvent
from perfledger_service.web.reference import main, pages

FOLDER = Path(__file__).parents[3] / "docs" / "reference" / "service"
PAGES = pages()


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_up_to_date(name):
    assert PAGES[name] == (FOLDER / name).read_text(encoding="utf-8"), "run `make docs`"


def test_no_page_is_left_over():
    assert {path.name for path in FOLDER.iterdir()} == set(PAGES)


def test_each_route_says_who_may_use_it_and_what_it_does():
    items = PAGES["routes.md"].replace("\n  ", " ").split("\n- `")[1:]
    rules = PAGES["routes.md"].split("\n- **")[1:]

    assert len(items) > len(service_routes()) > 0
    known_partitions = {rule.partition("**")[0] for rule in rules}
    for item in items:
        route, _, rest = item.partition("` (")
        rule, _, sentence = rest.partition("): ")
        assert route.split()[0] in {"GET", "POST", "PUT", "DELETE", "PATCH"}
        assert rule in known_partitions
        assert sentence.partition("\n")[0].endswith(".")


def test_each_count_of_the_database_is_a_metric():
    text = PAGES["metrics.md"]
    others = {"waiting": "uploads_waiting", "oldest_waiting_s": "oldest_waiting_upload_seconds"}
    others |= {"held_leases": "job_leases", "expired_leases": "job_leases"}

    for name in ServiceCounts.__dataclass_fields__:
        assert f"`perfledger_{others.get(name, name)}` (gauge): " in text
    assert "- `perfledger_request_seconds` (histogram): " in text


def test_each_delivery_that_is_read_is_on_the_page_of_events():
    assert [one for one in WebhookEvent if f"| `{one}`, " not in PAGES["events.md"]] == []


@pytest.mark.parametrize("name", PAGES)
def test_a_page_can_be_taken_in(name):
    lines = PAGES[name].splitlines()

    assert len(lines) <= 250
    assert [line for line in lines if len(line) > 120] == []


def test_the_pages_are_written_into_a_folder(tmp_path):
    main(tmp_path / "service")

    assert {path.name: path.read_text() for path in Path(tmp_path / "service").iterdir()} == PAGES

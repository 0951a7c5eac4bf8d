"""The page of a project's machines, over HTTP."""

import csv
import io


def test_the_page_and_its_data_name_the_same_machine(site, make_bundle):
    upload = site.upload(make_bundle()).json()
    site.judge(upload["id"])

    page = site.get("/octo/models/machines")
    document = site.get("/octo/models/machines?format=json").json()
    table = site.get("/octo/models/machines?format=csv")

    assert page.status_code == 200
    assert f'href="/runs/{upload["id"]}"' in page.text
    (machine,) = document["machines"]
    assert machine["newest_check"] == upload["id"]
    assert machine["machine_class"] == "cpu:Test CPU:1"
    assert table.headers["content-type"].startswith("text/csv")
    (row,) = csv.DictReader(io.StringIO(table.text))
    assert float(row["noise"]) == machine["noise"]


def test_the_navigation_of_a_project_leads_there(site):
    assert 'href="/octo/models/machines"' in site.get("/octo/models").text


def test_an_unknown_project_and_format_are_errors(site):
    assert site.get("/octo/none/machines").status_code == 404
    assert site.get("/octo/models/machines?format=pdf").status_code == 422

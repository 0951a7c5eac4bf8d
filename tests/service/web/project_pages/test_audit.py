def test_an_admin_is_led_to_what_people_did_in_the_project(browser_of):
    browser_of("alice").post("/octo/models/events/1/state", state="open", reason="look <again>")
    carol = browser_of("carol")
    answer = carol.get("/octo/models/audit")
    page = carol.get(answer.headers["location"]).text

    assert answer.status_code == 303
    assert "event 1 to open: look &lt;again&gt;" in page
    assert "alice" in page
    assert "127.0.0.1" in page


def test_others_do_not_read_it(browser_of):
    for login, status in (("alice", 403), ("vera", 403), ("bob", 404)):
        assert browser_of(login).get("/octo/models/audit").status_code == status
    assert browser_of("x", is_signed_in=False).get("/octo/models/audit").status_code == 303


def test_where_pages_are_open_nobody_reads_it(site):
    assert site.get("/octo/models/audit").status_code == 404


def test_a_name_that_no_database_stores_is_not_found(browser_of):
    carol = browser_of("carol")

    assert carol.get("/octo%00/models/audit").status_code == 404
    assert carol.post("/octo/mod%00els/events/1/state", state="open").status_code == 404

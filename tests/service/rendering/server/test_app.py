import json
from html.parser import HTMLParser

from perfledger_service.github.app.manifest import app_manifest
from perfledger_service.rendering.layout.writers import plain_lines, to_json, to_terminal
from perfledger_service.rendering.server.app import app_document, form_page
from perfledger_service.values.service_views.registered_app import RegisteredApp

APP = RegisteredApp(id=2, name="mine", url="https://github.example/apps/mine", client_id="Iv1")


class Inputs(HTMLParser):
    def __init__(self, page):
        super().__init__()
        self.attributes = {}
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        if tag in {"form", "input"}:
            self.attributes |= dict(attrs)


def test_the_form_sends_the_manifest_as_it_is_and_escapes_what_an_operator_typed():
    name = "<script>\"'&"
    manifest = app_manifest(name=name, public_url="https://l.example", redirect_url="http://b")

    page = form_page(manifest, registration_url="https://g.example/new?state=s", organization="<o>")

    attributes = Inputs(page).attributes
    assert "<script>" not in page
    assert "<o>" not in page
    assert attributes["action"] == "https://g.example/new?state=s"
    assert attributes["method"] == "post"
    assert json.loads(attributes["value"]) == manifest


def test_the_next_steps_name_the_file_as_a_shell_reads_it():
    assert ". ./app.env;" in plain_lines(to_terminal(app_document(APP, path="app.env")))
    assert ". '/a b/app.env';" in plain_lines(to_terminal(app_document(APP, path="/a b/app.env")))


def test_json_has_where_to_install_it():
    document = json.loads(to_json(app_document(APP, path="app.env")))

    assert document["installation_url"] == "https://github.example/apps/mine/installations/new"
    assert document["file"] == "app.env"

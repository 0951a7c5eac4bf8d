from perfledger_service.values.service_views.registered_app import RegisteredApp


def test_an_app_is_installed_on_a_page_below_its_own():
    app = RegisteredApp(id=2, name="mine", url="https://github.com/apps/mine", client_id="Iv1")

    assert app.installation_url == "https://github.com/apps/mine/installations/new"

from datetime import UTC, datetime

from perfledger_service.rendering.server.pages.account import account_page, signed_out_page
from perfledger_service.values.people.person import (
    AccountView,
    Person,
    PersonalToken,
    PersonProvider,
    Role,
)
from perfledger_service.values.token_scope import TokenScope

MOMENT = datetime(2026, 11, 20, 12, tzinfo=UTC)


def view(*, name="alice", roles=(("octo/models", Role.ADMIN),), tokens=()):
    person = Person(id=1, provider=PersonProvider.PROXY, subject=name, login=name)
    return AccountView(person=person, form_token="f" * 64, roles=roles, tokens=tokens, max_days=366)


def token(*, is_live):
    return PersonalToken(
        prefix="pl_0123abcd",
        repository="octo/models",
        scope=TokenScope.READ,
        created_at=MOMENT,
        expires_at=MOMENT,
        is_live=is_live,
    )


def test_every_form_of_the_page_is_of_the_session():
    page = account_page(view(tokens=(token(is_live=True),)))

    assert page.count('method="post"') == page.count(f'name="form_token" value="{"f" * 64}"') == 3
    assert 'href="/admin"' in page


def test_a_token_that_ended_cannot_be_revoked():
    page = account_page(view(tokens=(token(is_live=False),)))

    assert "revoke" not in page
    assert "ended" in page


def test_who_has_no_role_is_told_and_makes_no_token():
    page = account_page(view(roles=()))

    assert "You may not view any project here" in page
    assert "/account/tokens" not in page


def test_a_new_token_is_on_the_page_and_foreign_text_stays_text():
    page = account_page(view(name="<b>bob</b>"), new_token="pl_secret")

    assert '<pre tabindex="0">pl_secret</pre>' in page
    assert "<b>bob" not in page


def test_who_signed_out_can_sign_in_again():
    assert 'href="/sign-in"' in signed_out_page()

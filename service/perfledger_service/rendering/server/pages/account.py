"""Renders the account page with roles and tokens, and the pages for people not signed in."""

from perfledger_service.rendering.layout.environment import render
from perfledger_service.values.people.person import AccountView
from perfledger_service.values.token_scope import TokenScope

DEFAULT_DAYS = 90


def account_page(view: AccountView, *, new_token: str = "") -> str:
    """Return the page of the person signed in; a new token is shown only this once."""
    return render(
        "html/account.html.j2",
        view=view,
        scopes=tuple(TokenScope),
        default_days=DEFAULT_DAYS,
        new_token=new_token,
    )


def no_account_page(*, can_sign_in: bool) -> str:
    """Return the page for people who are not signed in, if pages are open to all."""
    return render("html/no_account.html.j2", can_sign_in=can_sign_in)


def signed_out_page() -> str:
    """Return the page after a session ended."""
    return render("html/signed_out.html.j2")

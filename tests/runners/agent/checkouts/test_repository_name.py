import pytest

from perfledger_runners.checkouts.repository_name import is_repository_name


@pytest.mark.parametrize("name", ["octo/models", "o/.github", f"{'o' * 39}/{'m' * 100}"])
def test_owner_and_name_are_a_repository(name):
    assert is_repository_name(name)


@pytest.mark.parametrize(
    "text",
    [
        *(
            "",
            "models",
            "octo/",
            "/models",
            "octo/models/x",
            "octo/..",
            "./models",
            "octo models/x",
        ),
        *(
            "https://github.com/octo/models",
            "github.com/octo/models",
            "octo/models\n",
            "öcto/models",
        ),
        *(f"{'o' * 40}/models", f"octo/{'m' * 101}"),
    ],
)
def test_any_other_text_is_not(text):
    assert not is_repository_name(text)

import msgspec
import pytest

from perfledger.registration.argument_faults import MAX_ID_LENGTH
from perfledger_runners.children.message_texts import Digest, Id, ShortText


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (Id, ""),
        (Id, "a\x00"),
        (Id, "x" * (MAX_ID_LENGTH + 1)),
        (ShortText, "a\nb"),
        (Digest, "a" * 63),
    ],
)
def test_a_text_that_cannot_be_shown_or_stored_is_refused(kind, text):
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(text, kind)


@pytest.mark.parametrize(("kind", "text"), [(Id, "m:f"), (ShortText, ""), (Digest, "")])
def test_a_usual_text_is_kept(kind, text):
    assert msgspec.convert(text, kind) == text

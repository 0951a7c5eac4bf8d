import json

from perfledger_service.rendering.history.detect import histories_document
from perfledger_service.rendering.layout import number_format
from perfledger_service.rendering.layout.writers import (
    plain_lines,
    to_json,
    to_markdown,
    to_terminal,
)


def test_every_kind_of_finding_has_words_in_the_order_of_its_place(everything):
    text = plain_lines(to_terminal(histories_document([everything]))).replace(
        number_format.NBSP, " "
    )

    words = ("drift", "came back", "noisier", "quieter", "two states", "1 up", "2 down")
    table = " ".join(text[text.index("confidence") :].split())
    places = [table.index(f"{word} ") for word in words]
    assert places == sorted(places)
    assert "2 change points, 1 drift, 2 changes of the noise, 1 change of states" in " ".join(
        text.split()
    )
    assert "points 4 to 6" in text
    assert "2.1 times" in text
    assert "1.5 to 3.0" in text
    assert "20 % → 60 %" in text
    assert "point 51 (50 to 52)" in text
    assert max(map(len, text.splitlines())) <= 80


def test_what_is_no_number_is_null_in_json_and_a_difference_in_words(everything):
    document = json.loads(to_json(histories_document([everything])))

    assert document["series"][0]["changes"][1]["change"] is None
    assert "| 2 | down |  | point 61 (50" in to_markdown(histories_document([everything]))
    assert "| -11 |" in to_markdown(histories_document([everything]))


def test_every_kind_of_finding_is_written_as_agreed(everything, matches_golden):
    document = histories_document([everything])

    matches_golden("findings.txt", plain_lines(to_terminal(document)))
    matches_golden("findings.json", to_json(document))

from perfledger_service.pages.caption import LINE, LINES, caption


def test_a_short_sentence_is_one_line():
    assert caption("Nothing waits.") == ("Nothing waits.",)


def test_a_long_sentence_goes_on_in_the_next_line():
    first, second = caption("word " * 40)

    assert len(first) <= LINE
    assert f"{first} {second}" == ("word " * 40).strip()


def test_what_does_not_fit_is_cut_and_says_so():
    lines = caption("word " * 500)

    assert len(lines) == LINES
    assert all(len(line) <= LINE for line in lines)
    assert lines[-1].endswith("\N{HORIZONTAL ELLIPSIS}")


def test_what_others_wrote_is_clean():
    assert caption("a\x00b\u202ec") == ("abc",)

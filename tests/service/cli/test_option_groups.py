import pytest

from perfledger_service.cli.option_groups import DAY, OptionGroup, argument, how, out, what


@pytest.mark.parametrize(
    ("declare", "group"),
    [(what, OptionGroup.WHAT), (how, OptionGroup.HOW), (out, OptionGroup.OUTPUT)],
)
def test_an_option_stands_in_its_group(declare, group):
    info = declare("what it means", metavar="NAME")

    assert (info.rich_help_panel, info.help, info.metavar) == (group, "what it means", "NAME")


def test_an_argument_is_part_of_what_a_command_is_about():
    assert argument("a file", metavar="FILE").rich_help_panel is OptionGroup.WHAT


def test_a_day_is_written_in_one_way():
    assert what("from here", metavar=DAY).formats == ["%Y-%m-%d"]
    assert what("a name", metavar="NAME").formats is None


def test_only_an_option_with_a_variable_shows_one():
    assert what("a name", metavar="NAME", environment="GITHUB_X").envvar == "GITHUB_X"
    assert not what("a name", metavar="NAME").show_envvar


def test_a_limit_and_a_default_in_words_are_passed_on():
    info = how("how many", metavar="COUNT", minimum=1, default="all")

    assert (info.min, info.show_default) == (1, "all")

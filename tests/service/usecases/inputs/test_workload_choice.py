import pytest
from hypothesis import given, strategies as st

from perfledger.records import WorkloadSpec
from perfledger_service.errors import UsageError
from perfledger_service.usecases.inputs.workload_choice import WorkloadChoice

GPT = WorkloadSpec(
    id="gpt:train_step[batch=8]", module="gpt", function="train_step", tags=("slow",)
)
SUMS = WorkloadSpec(id="sums:add", module="sums", function="add")


def chosen(expression, *globs):
    choice = WorkloadChoice(globs=globs, expression=expression)
    return [spec.id.partition(":")[0] for spec in (GPT, SUMS) if choice.is_chosen(spec)]


@pytest.mark.parametrize(
    ("expression", "names"),
    [
        ("", ["gpt", "sums"]),
        ("  ", ["gpt", "sums"]),
        ("gpt", ["gpt"]),
        ("TRAIN", ["gpt"]),
        ("slow", ["gpt"]),
        ("not slow", ["sums"]),
        ("not not slow", ["gpt"]),
        ("gpt or add", ["gpt", "sums"]),
        ("gpt and add", []),
        ("gpt and slow or add and slow", ["gpt"]),
        ("gpt and (slow or add)", ["gpt"]),
        ("not (gpt or sums)", []),
        ("not gpt or slow", ["gpt", "sums"]),
        ("[batch=8]", ["gpt"]),
        ("gpt:train_step", ["gpt"]),
        ("nothing", []),
    ],
)
def test_an_expression_chooses_by_ids_and_tags(expression, names):
    assert chosen(expression) == names


def test_globs_and_an_expression_both_hold():
    assert chosen("not slow", "gpt:*") == []
    assert chosen("slow", "gpt:*") == ["gpt"]


@pytest.mark.parametrize(
    ("expression", "problem"),
    [
        ("gpt and", "a word is missing before its end"),
        ("or gpt", "a word is missing before 'or'"),
        ("()", "a word is missing before '\\)'"),
        ("(gpt", "a parenthesis is not closed"),
        ("gpt)", "'\\)' comes after its end"),
        ("gpt sums", "'sums' comes after its end"),
        ("gpt & sums", "'&' is not part of a word"),
        ("a" * 1001, "more than 1000 characters"),
        ("(" * 400 + "a" + ")" * 400, "more than 50 parentheses and nots"),
        ("not " * 240 + "a", "more than 50 parentheses and nots"),
    ],
)
def test_an_expression_that_cannot_be_read_is_an_error_that_says_where(expression, problem):
    with pytest.raises(UsageError, match=problem):
        WorkloadChoice(expression=expression)


WORDS = st.sampled_from(["gpt", "sums", "slow", "8"])
EXPRESSIONS = st.recursive(
    WORDS,
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["and", "or"]), inner).map(
            lambda parts: f"({' '.join(parts)})"
        ),
        inner.map(lambda each: f"not {each}"),
    ),
    max_leaves=8,
)


@given(EXPRESSIONS)
def test_an_expression_means_what_python_means_by_it(expression):
    text = expression
    for word in ("gpt", "sums", "slow", "8"):
        text = text.replace(word, f"has('{word}')")

    def meaning(spec):
        return eval(text, {"has": lambda word: word in spec.id or word in spec.tags})

    choice = WorkloadChoice(expression=expression)
    assert [choice.is_chosen(spec) for spec in (GPT, SUMS)] == [meaning(GPT), meaning(SUMS)]


def test_a_choice_is_shown_as_its_options():
    assert str(WorkloadChoice()) == ""
    assert str(WorkloadChoice(globs=("gpt:*",), expression="slow")) == (
        "--workload gpt:* -k 'slow'"
    )


TEXT = "class Sums:\n    params = [10]\n    def time_add(self, size):\n        pass\n"


@pytest.mark.parametrize(
    ("expression", "globs", "may_choose"),
    [
        ("", [], True),
        ("sums", [], True),
        ("TIME_ADD", [], True),
        ("Sums.time_add", [], True),
        ("suite.fast:Sums", [], True),
        ("elsewhere", [], False),
        ("Sums.elsewhere", [], False),
        ("time_add[size=10]", [], True),
        ("size=3.5e-05", [], True),  # the value may be computed
        ("not fast", [], False),  # every id holds the name of the module
        ("not time_add", [], True),  # one may lack it
        ("not elsewhere", [], True),
        ("time_add and elsewhere", [], False),
        ("time_add or elsewhere", [], True),
        ("not (fast or elsewhere)", [], False),
        ("", ["suite.fast:*"], True),
        ("", ["suite.other:*"], False),
        ("", ["suite.other:*", "*.fast:Sums*"], True),
        ("", ["*time_add*"], True),
        ("elsewhere", ["suite.fast:*"], False),
    ],
)
def test_a_choice_may_choose_from_a_module_by_its_text(expression, globs, may_choose):
    choice = WorkloadChoice(globs=tuple(globs), expression=expression)

    assert choice.may_choose("suite.fast", TEXT) is may_choose


EXPRESSIONS = st.recursive(
    st.sampled_from(["fast", "sums", "add", "time_add", "slow", "elsewhere", "10"]),
    lambda each: st.one_of(
        each.map("not {}".format),
        st.tuples(each, st.sampled_from(["and", "or"]), each).map(
            lambda parts: f"({' '.join(parts)})"
        ),
    ),
)


@given(EXPRESSIONS)
def test_a_workload_that_is_chosen_is_of_a_module_that_may_hold_it(expression):
    choice = WorkloadChoice(expression=expression)
    spec = WorkloadSpec(
        id="suite.fast:Sums.time_add[size=10]", module="suite.fast", function="Sums.time_add"
    )

    assert choice.may_choose("suite.fast", TEXT) or not choice.is_chosen(spec)

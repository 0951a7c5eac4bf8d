"""How it is shown what compilers say and cost."""

from dataclasses import replace

from perfledger.compile_record import CompilationKind
from perfledger_service.rendering.layout.compile_rows import compilation_row, compile_block
from tests.service.rendering.example_evidence import compilations, compile_explanation


def plain_text(text):
    return text.replace("\N{NO-BREAK SPACE}", " ")


def test_the_phases_and_what_is_compiled_more_often():
    block = compile_block(compile_explanation())

    assert plain_text(block.summary) == (
        "A process compiled for 1.38 s on base and 4.62 s on head (+3.25 s): tracing +250 ms, "
        "backend compile +3.00 s."
    )
    assert plain_text(block.longest) == "backend compile +3.00 s"
    (row,) = block.rows
    assert plain_text(f"{row.name} {row.how} ({row.delta})") == (
        "train_step is compiled 4 times instead of once (+3.25 s)"
    )
    assert [one.text for one in row.source_lines] == ["models/gpt.py:90"]


def test_a_function_that_is_compiled_as_often_or_no_more():
    explanation = compile_explanation()
    (cause,) = explanation.causes

    def how(base, head):
        causes = (replace(cause, base_count=base, head_count=head),)
        return compile_block(replace(explanation, causes=causes)).rows[0].how

    assert how(1, 1) == "is compiled once, as before"
    assert how(0, 2) == "is compiled 2 times, and was not compiled before"
    assert how(2, 0) == "is no longer compiled"


def test_nothing_that_changed_has_no_longest_phase():
    block = compile_block(replace(compile_explanation(), phases=(), causes=()))

    assert (block.longest, block.rows) == ("", ())
    assert block.summary.endswith(").")


def test_a_compilation_has_its_place_and_the_compilers_words():
    broken, again = map(compilation_row, compilations())

    assert broken.what == "torch.compile breaks its graph"
    assert [one.text for one in broken.source_lines] == ["models/gpt.py:90"]
    assert again.what == "torch.compile compiles a function again, 7 times"
    assert again.function == "forward"


def test_the_period_of_a_compilers_sentence_is_dropped_and_each_kind_has_advice():
    every = [replace(compilations()[0], kind=kind, reason="It broke.") for kind in CompilationKind]

    rows = [compilation_row(one) for one in every]

    assert {row.reason for row in rows} == {"It broke"}
    assert all(row.suggestion for row in rows)
    assert [one.kind for one, row in zip(every, rows, strict=True) if not row.is_in_steps] == [
        CompilationKind.START_RETRACE
    ]

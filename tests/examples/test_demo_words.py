"""What the demo says, and when it refuses to say it."""

import json

import pytest

COMMENT = """\
<!-- perfledger:comment:v1 -->
### 🔴 Regressed

<details>
<summary>All 12 results</summary>

| a | b |
|:--|--:|
| `x` | 1 |

</details>

<sub>check `1`</sub>
"""


@pytest.fixture
def outcome(demo):
    """An outcome of a branch whose step times were judged with these words."""

    def make(*, slower="", exit_code=0, **words):
        return demo.demo_checks.Outcome(
            branch="topic",
            slower=slower,
            exit_code=exit_code,
            conclusion="success",
            headline="a headline",
            verdicts=tuple(
                demo.demo_checks.VerdictSummary(
                    workload=workload,
                    metric="step_time_p50",
                    outcome=word,
                    change=0.3,
                    low=0.2,
                    high=0.4,
                    pairs=4,
                )
                for workload, word in words.items()
            ),
            seconds=1.0,
            bundle="topic.bundle.json",
        )

    return make


def test_nothing_is_surprising_when_the_verdicts_are_as_planted(demo, outcome):
    slow = outcome(slower="gpt", exit_code=1, gpt="regressed", resnet="unchanged")
    innocent = outcome(gpt="unchanged", resnet="improved")

    assert demo.main.unexpected_verdicts([slow, innocent]) == ()


def test_a_missed_slowdown_is_said(demo, outcome):
    unexpected_verdicts = demo.main.unexpected_verdicts(
        [outcome(slower="gpt", exit_code=3, gpt="undecided")]
    )

    assert unexpected_verdicts == ("topic slows down gpt, which was not detected",)


def test_a_false_alarm_is_said(demo, outcome):
    slow = outcome(slower="gpt", exit_code=1, gpt="regressed", resnet="regressed")
    innocent = outcome(exit_code=1, gpt="regressed")

    assert demo.main.unexpected_verdicts([slow, innocent]) == (
        "topic does not slow down resnet, but it was reported as slower",
        "topic does not slow down gpt, but it was reported as slower",
    )


def test_an_undecided_refactoring_is_said(demo, outcome):
    unexpected_verdicts = demo.main.unexpected_verdicts([outcome(exit_code=3, gpt="undecided")])

    assert unexpected_verdicts == ("topic changes nothing, but this was not proven",)


def test_one_branch_can_be_chosen_by_name(demo):
    first, second = demo.main.chosen_branches(None)

    assert demo.main.chosen_branches(second.name) == (second,)
    assert first.pull_request != second.pull_request


def test_a_branch_that_does_not_exist_is_an_error_that_lists_those_that_do(demo):
    with pytest.raises(demo.demo_repository.DemoError, match=r"'other': choose from \w+"):
        demo.main.chosen_branches("other")


def test_a_folder_with_somebodys_files_is_not_deleted(demo, tmp_path):
    (tmp_path / "thesis.tex").write_text("years of work")

    with pytest.raises(demo.demo_repository.DemoError, match="is not empty and not from a demo"):
        demo.main.fresh_folder(tmp_path)

    assert (tmp_path / "thesis.tex").exists()


def test_a_demos_own_folder_begins_anew(demo, tmp_path):
    folder = tmp_path / "demo"
    demo.main.fresh_folder(folder)
    (folder / "service.db").write_text("of the last time")

    demo.main.fresh_folder(folder)

    assert [path.name for path in folder.iterdir()] == [demo.main.MARKER]


def test_the_demo_ends_with_one_and_in_words_when_it_cannot_work(demo, tmp_path, capsys):
    (tmp_path / "thesis.tex").write_text("years of work")

    code = demo.main.main(["--folder", str(tmp_path)])

    assert code == 1
    assert "The demo failed: " in capsys.readouterr().out


def test_the_terminal_gets_a_comment_without_html(demo):
    text = demo.main.terminal_text(COMMENT)

    assert "**▸ All 12 results**" in text
    assert "<" not in text


def test_the_lines_of_a_cell_stay_apart_in_the_terminal(demo):
    assert demo.main.terminal_text("| `gpt`<br>step time |") == "| `gpt`, step time |"


def test_what_is_folded_is_cut_off(demo):
    assert demo.main.first_part(COMMENT) == "<!-- perfledger:comment:v1 -->\n### 🔴 Regressed\n"


def test_the_outcome_is_json_with_what_was_said(demo, outcome):
    posted_report = demo.demo_service.PostedReport(
        comment="words", conclusion="failure", title="Regressed", page="http://127.0.0.1/runs/1"
    )

    document = json.loads(
        demo.main.outcome_json(
            [outcome(gpt="regressed")], {"topic": posted_report}, {"measured": 2.5}
        )
    )

    assert document["seconds"] == {"measured": 2.5}
    [branch] = document["branches"]
    assert branch["verdicts"][0]["outcome"] == "regressed"
    assert branch["posted"]["conclusion"] == "failure"


def test_a_comment_is_drawn_with_its_table_and_its_folds(demo):
    page = demo.demo_pictures.comment_page(COMMENT)

    assert "<code>x</code></td>" in page
    assert "<summary>All 12 results</summary>" in page


def test_a_pull_request_without_exactly_one_comment_is_an_error(demo, branch):
    comment = {"number": branch.pull_request, "body": "words"}
    check = {"head_sha": "c" * 40, "conclusion": "failure", "output": {"title": "Regressed"}}
    answers = {"comments": {"1": comment, "2": comment}, "check_runs": {"3": check}}
    state = {"repositories": {demo.demo_repository.REPOSITORY: answers}}

    with pytest.raises(demo.demo_repository.DemoError, match="has 2 comments and 1 check runs"):
        demo.demo_service.posted_report(state, branch, "c" * 40, "page")


def test_nothing_of_the_users_own_perfledger_reaches_the_demo(demo, tmp_path, monkeypatch):
    monkeypatch.setenv("PERFLEDGER_UPLOAD_URL", "https://perfledger.example")
    monkeypatch.setenv("GITHUB_REPOSITORY", "somebody/else")

    environment = demo.demo_checks.environment(tmp_path, PERFLEDGER_UPLOAD_TOKEN="t")

    assert "GITHUB_REPOSITORY" not in environment
    assert {name for name in environment if name.startswith("PERFLEDGER_")} == {
        "PERFLEDGER_UPLOAD_TOKEN"
    }

from perfledger_service.rendering.layout.writers import to_json
from perfledger_service.rendering.server.reorder import MAX_SHOWN, reorder_document
from perfledger_service.values.branch_views import BranchOrder

ORDER = BranchOrder(
    repository="octo/models", source="GitHub", commits=("a" * 40,), moved_commits=2, unattested=()
)


def text(order):
    [block] = reorder_document(order).blocks
    return block.text


def test_an_order_says_whose_word_it_is_and_how_much_moved():
    assert text(ORDER) == (
        "octo/models: 1 measured commit on the default branch, 2 commits moved\naccording to GitHub"
    )


def test_unattested_commits_are_named_up_to_a_limit():
    shas = tuple(f"{number:040x}" for number in range(MAX_SHOWN + 3))
    order = BranchOrder(
        repository="o/r", source="GitHub", commits=(), moved_commits=0, unattested=shas
    )

    assert text(order).endswith(" and 3 more")
    assert shas[-1] in to_json(reorder_document(order))

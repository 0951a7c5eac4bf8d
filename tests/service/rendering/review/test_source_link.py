import pytest

from perfledger_service.rendering.review.source_link import source_link


@pytest.mark.parametrize(
    ("source", "link"),
    [
        ("us-east-1; see https://aws.amazon.com/x?y=1, of June", "https://aws.amazon.com/x?y=1"),
        (
            "us-east-1; aws/karpenter-provider-aws pkg/a/zz_generated.go @6fc13b52 (generated)",
            "https://github.com/aws/karpenter-provider-aws/blob/6fc13b52/pkg/a/zz_generated.go",
        ),
        ("dstackai/dstack PR 4110 (2026-08-06)", "https://github.com/dstackai/dstack/pull/4110"),
        ("a public secondary source", ""),
        ("javascript:alert(1)", ""),
        ('https://x.example/"onclick="a', "https://x.example/"),
        ("", ""),
    ],
)
def test_a_source_has_the_address_that_it_names(source, link):
    assert source_link(source) == link

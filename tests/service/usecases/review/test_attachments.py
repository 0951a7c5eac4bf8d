from hashlib import sha256

import pytest

from perfledger_cost_models.procurement.plan import ProcurementPlanError, read_plan
from perfledger_service.errors import NotFoundError
from perfledger_service.usecases.review.attachments import attachment_source, read_attachments
from tests.service.rendering.review.conftest import PLAN

QUOTE = '[[attachment]]\nname = "quote"\nfile = "{file}"\n'


def test_an_attached_file_is_unchanged_and_a_source_with_its_hash(tmp_path):
    (tmp_path / "quote.gz").write_bytes(b"\x1f\x8b not unpacked")
    plan = read_plan(PLAN + QUOTE.format(file="quote.gz"), "plan.toml")

    (attachment,) = read_attachments(plan, tmp_path)

    assert attachment.data == b"\x1f\x8b not unpacked"
    source = attachment_source(attachment)
    assert (source.name, source.origin) == ("quote", "quote.gz")
    assert source.sha256 == sha256(attachment.data).hexdigest()


def test_a_missing_file_is_named(tmp_path):
    plan = read_plan(PLAN + QUOTE.format(file="none.pdf"), "plan.toml")

    with pytest.raises(NotFoundError, match=r"none\.pdf"):
        read_attachments(plan, tmp_path)


@pytest.mark.parametrize("file", ["../secret", "/etc/passwd", "a/../../b"])
def test_a_file_outside_of_the_plans_folder_is_refused(file):
    with pytest.raises(ProcurementPlanError):
        read_plan(PLAN + QUOTE.format(file=file), "plan.toml")


def test_two_files_of_one_name_are_refused():
    text = PLAN + QUOTE.format(file="a/quote.pdf") + QUOTE.format(file="b/quote.pdf")

    with pytest.raises(ProcurementPlanError, match="attached file's name"):
        read_plan(text, "plan.toml")

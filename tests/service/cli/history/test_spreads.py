import json

import pytest

from perfledger_service.errors import PerfledgerError

TOKEN = "pl_0123abcd_" + "s" * 43


def test_the_spreads_are_written_as_the_check_reads_them(run, site, tmp_path):
    path = tmp_path / "spreads.json"

    output = run(
        *("history", "spreads", "--upload-url", site.url, "--output", path),
        PERFLEDGER_UPLOAD_TOKEN=TOKEN,
    )

    assert output == ""
    assert json.loads(path.read_text())["priors"] == []


def test_a_service_that_does_not_answer_is_an_error(run):
    with pytest.raises(PerfledgerError):
        run(
            *("history", "spreads", "--upload-url", "http://127.0.0.1:9"),
            PERFLEDGER_UPLOAD_TOKEN=TOKEN,
        )

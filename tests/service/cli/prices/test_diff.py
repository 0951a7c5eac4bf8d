"""`perfledger prices diff` as a user runs it."""

import json

from perfledger_cost_models.prices.packaged_sheet import packaged_text


def test_two_sheets_differ_by_what_was_added_removed_and_changed(run, tmp_path):
    lines = packaged_text().splitlines()
    after = [line for line in lines if not line.startswith("aws,inf2.48xlarge")]
    after.append(after[1].replace("p4d.24xlarge", "p9.24xlarge"))
    path = tmp_path / "after.csv"
    path.write_text("\n".join(after).replace("13.3504,1.6688", "26.7008,3.3376") + "\n")

    document = json.loads(run("prices", "diff", "packaged", path, "--format", "json"))

    found_rows = {row["kind"]: row for row in document["prices"]}
    assert found_rows["added"]["option"] == "p9.24xlarge/on_demand"
    assert found_rows["removed"]["option"] == "inf2.48xlarge/on_demand"
    assert found_rows["changed"]["change"] == 1.0
    assert len(document["prices"]) == 3
    rows = run("prices", "diff", "packaged", path, "--format", "csv").splitlines()
    assert len(rows) == 4
    assert "+100\N{NO-BREAK SPACE}%" in run("prices", "diff", "packaged", path)


def test_programs_read_prices_without_separators(run, tmp_path):
    header, first, *_ = packaged_text().splitlines()
    first = first.replace("p4d.24xlarge", "pod").replace("A100-40GB,8,", "A100-40GB,512,")
    for name, price in (("before", "1098.5,2.14551"), ("after", "1098.70,2.14590")):
        line = first.replace("21.957642,2.74471", price)
        (tmp_path / f"{name}.csv").write_text(f"{header}\n{line}\n")
    diff = ("prices", "diff", tmp_path / "before.csv", tmp_path / "after.csv")

    (row,) = json.loads(run(*diff, "--format", "json"))["prices"]

    assert (row["usd_per_hour_before"], row["usd_per_hour_after"]) == ("1098.5", "1098.70")
    assert "1098.5,1098.70" in run(*diff, "--format", "csv")
    assert "1,098.70" in run(*diff)


def test_a_sheet_does_not_differ_from_itself(run):
    output = run("prices", "diff", "packaged", "packaged")

    assert "0 changed, 0 added, 0 removed" in " ".join(output.split())

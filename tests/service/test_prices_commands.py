"""`perfledger prices` as a user runs it."""

import csv
import io
import json

import pytest
from typer.testing import CliRunner

from perfledger_cost_models.sheet import COLUMNS, packaged_sheet, packaged_text
from perfledger_service.cli.app import app
from perfledger_service.errors import NotFoundError, SettingsError, TooLargeError, UsageError
from perfledger_service.usecases.price_books import MAX_SHEET_BYTES
from perfledger_service.usecases.price_sheets import check_prices

FREE = "gcp,tpu-v6e,asia-east1,TPU-v6e,1,on_demand,per chip,700.0,700.0,,2026-11-20,high,a list,"


@pytest.fixture
def run():
    def run(*words, code=0):
        done = CliRunner().invoke(app, list(map(str, words)), env={"COLUMNS": "80"})
        if done.exception is not None and not isinstance(done.exception, SystemExit):
            raise done.exception
        assert done.exit_code == code, done.stdout
        return done.stdout

    return run


@pytest.fixture
def sheet(tmp_path):
    def sheet(*rows):
        path = tmp_path / "prices.csv"
        path.write_text("\n".join([",".join(COLUMNS), *rows, ""]))
        return path

    return sheet


def test_the_packaged_sheet_can_be_used_but_for_what_is_unknown(run):
    count, unknown = len(packaged_sheet().prices), len(packaged_sheet().unknown)
    shown = " ".join(run("prices", "check").split())

    assert f"{count} of {count + unknown} rows can be used, 0 rejected" in shown
    assert shown.count("it stays unknown") == unknown


def test_a_row_that_must_not_be_used_exits_with_2_and_says_why(run, sheet):
    shown = run("prices", "check", sheet(FREE), code=2)

    assert "row 2 gcp:tpu-v6e/on_demand@asia-east1" in shown
    assert "700.0 is a placeholder" in shown
    assert max(map(len, shown.splitlines())) <= 80


def test_findings_are_written_as_json(run, sheet):
    document = json.loads(run("prices", "check", sheet(FREE), "--format", "json", code=2))

    assert (document["rows"], document["usable"]) == (1, 0)
    assert [found["level"] for found in document["findings"]] == ["reject"]


def test_findings_are_written_as_markdown_with_names_in_code(run, sheet):
    shown = run("prices", "check", sheet(FREE), "--format", "markdown", code=2)

    assert "| 2 | `gcp:tpu-v6e/on_demand@asia-east1` | reject | placeholder |" in shown


def test_what_moved_since_the_last_sheet_is_to_be_approved(run, tmp_path):
    before = tmp_path / "before.csv"
    before.write_text(packaged_text().replace("55.04,6.88", "40.00,5.0"))

    shown = run("prices", "check", "--against", before)

    assert "step since the last sheet" in shown
    assert "+37.6%" in shown


def test_a_missing_sheet_says_which(tmp_path):
    with pytest.raises(NotFoundError, match=r"nothing\.csv"):
        check_prices(tmp_path / "nothing.csv")


def test_a_sheet_that_is_no_text_says_so(tmp_path):
    path = tmp_path / "prices.csv"
    path.write_bytes(b"\xff\xfe")

    with pytest.raises(UsageError, match="no text in UTF-8"):
        check_prices(path)


def test_a_sheet_that_is_too_large_is_not_read(tmp_path):
    path = tmp_path / "prices.csv"
    with path.open("wb") as file:
        file.truncate(MAX_SHEET_BYTES + 1)

    with pytest.raises(TooLargeError, match="split"):
        check_prices(path)


AWS = """"FormatVersion","v1.0"
"Publication Date","2026-11-21T00:00:00Z"
{header}
{row}
"""
AWS_ROW = {
    "SKU": "ABCDEF",
    "OfferTermCode": "JRTCKXETXF",
    "TermType": "OnDemand",
    "EffectiveDate": "2025-06-01",
    "Unit": "Hrs",
    "PricePerUnit": "54.0000000000",
    "Currency": "USD",
    "LeaseContractLength": "",
    "PurchaseOption": "",
    "OfferingClass": "",
    "Instance Type": "p5.48xlarge",
    "Tenancy": "Shared",
    "Operating System": "Linux",
    "CapacityStatus": "Used",
    "Pre Installed S/W": "NA",
    "Region Code": "us-east-1",
    "MarketOption": "OnDemand",
}


@pytest.fixture
def aws_file(tmp_path):
    """Write a price list by hand in the shape of AmazonEC2's index.csv."""

    def write(**changes):
        row = AWS_ROW | {"PricePerUnit": changes.get("usd", "54.0"), "Region Code": "us-east-1"}
        cells = (",".join(f'"{cell}"' for cell in line) for line in (row, row.values()))
        path = tmp_path / "index.csv"
        path.write_text(AWS.format(header=next(cells), row=next(cells)))
        return path

    return write


def test_a_fetched_file_becomes_a_sheet_that_counts(run, aws_file, tmp_path):
    sheet = tmp_path / "mine.csv"

    shown = run("prices", "update", "--from", aws_file(), "--output", sheet)

    assert "-1.9%  55.04 to 54  aws:p5.48xlarge/on_demand@us-east-1" in shown
    listed = json.loads(run("prices", "list", "--json", "--prices", sheet))
    (found,) = (
        row
        for row in listed
        if (row["option"], row["region"]) == ("p5.48xlarge/on_demand", "us-east-1")
    )
    assert (found["usd_per_hour"], found["as_of"]) == ("54", "2026-11-21")
    assert "sha256" in found["source"]


def test_a_list_in_json_with_a_byte_order_mark_is_known_as_well(run, tmp_path):
    sheet, path = tmp_path / "mine.csv", tmp_path / "index.json"
    attributes = (
        '{"instanceType": "p5.48xlarge", "tenancy": "Shared", "operatingSystem": "Linux",'
        '"capacitystatus": "Used", "preInstalledSw": "NA", "regionCode": "us-east-1"}'
    )
    dimension = '{"unit": "Hrs", "pricePerUnit": {"USD": "54"}}'
    path.write_text(  # by hand, in the shape of AmazonEC2's index.json
        '{"offerCode": "AmazonEC2", "publicationDate": "2026-11-21T00:00:00Z",'
        f'"products": {{"A": {{"attributes": {attributes}}}}}, "terms": {{"OnDemand": {{"A":'
        f'{{"A.B": {{"priceDimensions": {{"C": {dimension}}}}}}}}}}}}}',
        encoding="utf-8-sig",
    )

    shown = run("prices", "update", "--from", path, "--output", sheet)

    assert "-1.9%  55.04 to 54  aws:p5.48xlarge/on_demand@us-east-1" in shown


def test_a_list_of_items_without_their_page_is_no_file_of_awss(run, tmp_path):
    path = tmp_path / "items.json"
    path.write_text('[{"armSkuName": "Standard_ND96isr_H100_v5", "retailPrice": 98.32}]')

    with pytest.raises(UsageError, match="no bulk file that is known"):
        run("prices", "update", "--from", path, "--output", tmp_path / "mine.csv")


def test_a_large_step_is_written_only_when_it_is_approved(run, aws_file, tmp_path):
    sheet, words = tmp_path / "mine.csv", ("prices", "update", "--from", aws_file(usd="98.32"))

    with pytest.raises(UsageError, match="1 prices moved by more than 20 percent"):
        run(*words, "--output", sheet)
    assert not sheet.exists()
    run(*words, "--output", sheet, "--approve")
    assert "98.32" in sheet.read_text()


def test_what_the_file_had_of_other_regions_and_providers_stays(run, aws_file, tmp_path):
    sheet = tmp_path / "mine.csv"
    other = (
        packaged_text().splitlines()[0]
        + "\n"
        + next(
            line
            for line in packaged_text().splitlines()
            if line.startswith("azure,Standard_ND96asr_v4")
        )
    )
    sheet.write_text(other + "\n")

    run("prices", "update", "--from", aws_file(), "--output", sheet)

    assert "azure,Standard_ND96asr_v4" in sheet.read_text()
    assert "aws,p5.48xlarge" in sheet.read_text()


def test_savings_plans_come_beside_the_prices_on_demand(run, aws_file, tmp_path):
    sheet, plans = tmp_path / "mine.csv", tmp_path / "plans.csv"
    plans.write_text(  # by hand, in the shape of AWSComputeSavingsPlan's index.csv
        "Publication Date,2026-11-20T18:44:47Z\nOfferCode,AmazonComputeSavingsPlan\n"
        "SKU,Unit,EffectiveDate,DiscountedRate,Currency,DiscountedServiceCode,DiscountedUsageType,"
        "DiscountedOperation,PurchaseOption,LeaseContractLength,LeaseContractLengthUnit,"
        "Product Family,DiscountedRegionCode,DiscountedInstanceType\n"
        "A,Hrs,2026-06-05,24.0,USD,AmazonEC2,BoxUsage:p5.48xlarge,RunInstances,No Upfront,3,year,"
        "EC2InstanceSavingsPlans,us-east-1,p5.48xlarge\n"
    )
    run("prices", "update", "--from", aws_file(), "--output", sheet)

    shown = run("prices", "update", "--from", plans, "--output", sheet)

    assert "23.777 to 24  aws:p5.48xlarge/savings_plan/3y_no_upfront@us-east-1" in shown
    assert ",on_demand,,54," in sheet.read_text()


def test_a_file_without_accelerators_says_what_was_in_it(run, aws_file, tmp_path):
    path = aws_file()
    path.write_text(path.read_text().replace("p5.48xlarge", "m7i.large"))

    with pytest.raises(UsageError, match="1 with no accelerator that is known"):
        run("prices", "update", "--from", path, "--output", tmp_path / "mine.csv")


def test_a_price_that_is_rejected_is_not_written(run, aws_file, tmp_path):
    sheet, path = tmp_path / "mine.csv", aws_file(usd="700")
    good, bad = aws_file(usd="54").read_text().splitlines()[-1], path

    bad.write_text(
        path.read_text() + good.replace('"54"', '"700"').replace("us-east-1", "us-west-2")
    )
    shown = run("prices", "update", "--from", bad, "--output", sheet)

    assert "1 of 2 rows can be used, 1 rejected" in " ".join(shown.split())
    assert "us-west-2" not in sheet.read_text()


def test_a_file_that_is_no_bulk_file_says_which_there_are(run, tmp_path):
    path = tmp_path / "page.json"
    path.write_text('{"error": "no"}')

    with pytest.raises(UsageError, match="retail prices"):
        run("prices", "update", "--from", path, "--output", tmp_path / "mine.csv")


def test_google_without_a_key_says_how_to_give_one(run, tmp_path):
    with pytest.raises(SettingsError, match="PERFLEDGER_GOOGLE_API_KEY"):
        run("prices", "update", "--provider", "google", "--output", tmp_path / "mine.csv")


def test_two_sheets_differ_by_what_was_added_removed_and_changed(run, tmp_path):
    lines = packaged_text().splitlines()
    after = [line for line in lines if not line.startswith("aws,inf2.48xlarge")]
    after.append(after[1].replace("p4d.24xlarge", "p9.24xlarge"))
    path = tmp_path / "after.csv"
    path.write_text("\n".join(after).replace("13.3504,1.6688", "26.7008,3.3376") + "\n")

    document = json.loads(run("prices", "diff", "packaged", path, "--format", "json"))

    assert [each["option"] for each in document["added"]] == ["p9.24xlarge/on_demand"]
    assert [each["option"] for each in document["removed"]] == ["inf2.48xlarge/on_demand"]
    assert [each["change"] for each in document["changed"]] == [1.0]
    rows = run("prices", "diff", "packaged", path, "--format", "csv").splitlines()
    assert len(rows) == 4
    assert "+100.0%" in run("prices", "diff", "packaged", path)


def test_a_sheet_does_not_differ_from_itself(run):
    shown = run("prices", "diff", "packaged", "packaged")

    assert "0 changed, 0 added, 0 removed" in " ".join(shown.split())


def test_old_prices_are_marked_in_the_list_and_counted_by_the_check(run, sheet):
    old = FREE.replace("700.0", "2.0").replace("2026-11-20", "2020-01-01")

    assert "1 list prices are older than 90 days" in run("prices", "check", sheet(old))
    assert " old" in run("prices", "list", "--prices", sheet(old))


def test_own_prices_go_before_fetched_ones_and_a_contract_before_them(run, tmp_path, aws_file):
    sheet, own, contract = (tmp_path / name for name in ("mine.csv", "own.toml", "deal.toml"))
    run("prices", "update", "--from", aws_file(), "--output", sheet)
    own.write_text(
        '[[discount]]\nprovider = "aws"\nshare = 0.5\nas_of = 2026-07-01\nsource = "EDP"\n'
    )
    contract.write_text(
        '[[price]]\nprovider = "aws"\nsku = "p5.48xlarge"\nregion = "us-east-1"\n'
        'accelerator = "H100-80GB"\ncount = 8\nmodel = "on_demand"\nper_hour = 20\n'
        'as_of = 2026-10-01\nsource = "deal"\n'
    )

    def usd(*words):
        rows = json.loads(run("prices", "list", "--json", "--prices", sheet, *words))
        return next(
            row["usd_per_hour"]
            for row in rows
            if (row["option"], row["region"]) == ("p5.48xlarge/on_demand", "us-east-1")
        )

    assert usd() == "54"
    assert usd("--overrides", own) == "27.0"
    assert usd("--overrides", own, "--contract", contract) == "20"


def test_a_contract_in_csv_counts_as_it_is_written(run, tmp_path):
    own, contract = tmp_path / "own.toml", tmp_path / "deal.csv"
    own.write_text(
        '[[discount]]\nprovider = "aws"\nshare = 0.5\nas_of = 2026-07-01\nsource = "EDP"\n'
    )
    lines = packaged_text().splitlines()
    contract.write_text(f"{lines[0]}\n{lines[1].replace('21.957642,2.74471', '16,2')}\n")

    words = ("--overrides", own, "--contract", contract)
    rows = json.loads(run("prices", "list", "--json", *words))

    found = {row["option"]: row["usd_per_hour"] for row in rows if row["region"] == "us-east-1"}
    assert found["p4d.24xlarge/on_demand"] == "16"
    assert found["p5.48xlarge/on_demand"] == "27.520"


def test_prices_are_listed_as_csv_with_their_sources(run):
    shown = run("prices", "list", "--format", "csv")
    rows = [row for row in csv.DictReader(io.StringIO(shown)) if row["usd_per_hour"]]

    assert len(rows) == len(packaged_sheet().prices)
    assert all(row["source"] and row["as_of"] and row["confidence"] for row in rows)


def test_a_price_that_a_newer_one_replaces_is_superseded(run):
    rows = json.loads(run("prices", "list", "--format", "json"))
    found = {
        row["usd_per_hour"]: row["is_superseded"]
        for row in rows
        if (row["option"], row["region"]) == ("p5.48xlarge/on_demand", "us-east-1")
    }

    assert found == {"98.32": True, "55.04": False}
    assert "superseded" in run("prices", "list")


def test_a_list_is_written_into_a_file(run, tmp_path):
    run("prices", "list", "--output", tmp_path / "list.txt")

    assert "8x H100-80GB" in (tmp_path / "list.txt").read_text()


def test_a_sheet_that_is_none_was_asked_wrongly(run, tmp_path):
    path = tmp_path / "empty.csv"
    path.touch()

    with pytest.raises(UsageError, match="has the columns"):
        run("prices", "check", path)


def test_no_source_leans_on_the_row_above():
    assert not [price.source for price in packaged_sheet().prices if price.source[:4] == "same"]


def test_unknown_prices_are_listed_as_such_and_never_as_zero(run):
    rows = [row for row in json.loads(run("prices", "list", "--json")) if not row["usd_per_hour"]]
    shown = run("prices", "list", "--format", "csv")

    assert len(rows) == 8
    assert {(row["usd_per_hour"], row["confidence"]) for row in rows} == {(None, "unknown")}
    assert "gcp,tpu-v6e/committed_use/3y,us,TPU-v6e,1,,,,False,False,unknown," in shown


def test_findings_are_written_as_csv(run):
    rows = list(csv.DictReader(io.StringIO(run("prices", "check", "--format", "csv"))))

    assert {row["level"] for row in rows} == {"warn", "unknown"}
    assert all(row["row"].isdigit() and row["rule"] and row["reason"] for row in rows)

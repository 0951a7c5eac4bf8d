"""`perfledger prices update` as a user runs it, on files in the shape of the providers'."""

import json

import pytest
from typer.testing import CliRunner

from perfledger_cost_models.prices.packaged_sheet import packaged_text
from perfledger_service.cli.app import app
from perfledger_service.errors import SettingsError, UsageError
from perfledger_service.usecases.prices.update import read_bulk_files
from tests.service.servers.price_server import ITEM


def test_a_fetched_file_becomes_a_sheet_that_counts(run, aws_file, tmp_path):
    sheet = tmp_path / "mine.csv"

    output = run("prices", "update", "--file", aws_file(), "--output", sheet)

    assert "-1.9 % 55.04 54 aws:p5.48xlarge/on_demand@us-east-1" in " ".join(output.split())
    listed = json.loads(run("prices", "list", "--json", "--prices", sheet))["prices"]
    (found_row,) = (
        row
        for row in listed
        if (row["option"], row["region"]) == ("p5.48xlarge/on_demand", "us-east-1")
    )
    assert (found_row["usd_per_hour"], found_row["as_of"]) == ("54", "2026-11-21")
    assert "sha256" in found_row["source"]


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

    output = run("prices", "update", "--file", path, "--output", sheet)

    assert "-1.9 % 55.04 54 aws:p5.48xlarge/on_demand@us-east-1" in " ".join(output.split())


def test_a_list_of_items_without_its_page_is_not_a_known_bulk_file(run, tmp_path):
    path = tmp_path / "items.json"
    path.write_text('[{"armSkuName": "Standard_ND96isr_H100_v5", "retailPrice": 98.32}]')

    with pytest.raises(UsageError, match=r"is not a known bulk file: give AWS's index\.csv"):
        run("prices", "update", "--file", path, "--output", tmp_path / "mine.csv")


@pytest.mark.parametrize(
    ("regions", "name"),
    [
        (["eastus"], "1.json"),
        (["eastus", "westeurope"], "1.json and 1 more"),
        (["eastus", "westeurope", "westus"], "1.json and 2 more"),
    ],
)
def test_prices_name_the_first_of_their_files(tmp_path, regions, name):
    paths = [tmp_path / f"{number}.json" for number, _ in enumerate(regions, start=1)]
    for path, region in zip(paths, regions, strict=True):
        path.write_text(json.dumps({"Items": [ITEM | {"armRegionName": region}]}))

    [sheet] = read_bulk_files(paths)

    assert {price.region for price in sheet.prices} == set(regions)
    assert {price.source.partition(" (sha256 ")[0] for price in sheet.prices} == {name}


def test_a_large_step_is_written_only_when_it_is_approved(run, aws_file, tmp_path):
    sheet, words = tmp_path / "mine.csv", ("prices", "update", "--file", aws_file(usd="70.4"))

    with pytest.raises(UsageError, match="1 of 1 prices changed by more than 20 percent"):
        run(*words, "--output", sheet)
    assert not sheet.exists()
    run(*words, "--output", sheet, "--approve")
    assert "70.4" in sheet.read_text()


def test_an_update_in_json_says_whether_the_sheet_was_written(run, aws_file, tmp_path):
    sheet = tmp_path / "mine.csv"
    words = ("prices", "update", "--output", sheet, "--json")

    written = json.loads(run(*words, "--file", aws_file()))

    (change,) = written["prices"]
    assert (change["usd_per_hour_before"], change["usd_per_hour_after"]) == ("55.04", "54")
    assert (written["to_approve"], written["written_to"]) == (0, str(sheet))
    assert "54" in sheet.read_text()


def test_an_update_that_needs_approval_in_json_is_not_written(aws_file, tmp_path):
    sheet = tmp_path / "mine.csv"
    words = ("prices", "update", "--output", sheet, "--json", "--file", aws_file(usd="70.4"))

    done = CliRunner().invoke(app, list(map(str, words)))

    assert isinstance(done.exception, UsageError)
    document = json.loads(done.stdout)
    assert (document["to_approve"], document["written_to"]) == (1, None)
    assert not sheet.exists()


def test_prices_of_other_regions_and_providers_stay(run, aws_file, tmp_path):
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

    run("prices", "update", "--file", aws_file(), "--output", sheet)

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
    run("prices", "update", "--file", aws_file(), "--output", sheet)

    output = run("prices", "update", "--file", plans, "--output", sheet)

    assert "23.777 24 aws:p5.48xlarge/savings_plan/3y_no_upfront@us" in " ".join(output.split())
    assert ",on_demand,,54," in sheet.read_text()


def test_a_file_without_accelerators_names_its_content(run, aws_file, tmp_path):
    path = aws_file()
    path.write_text(path.read_text().replace("p5.48xlarge", "m7i.large"))

    with pytest.raises(UsageError, match="1 with no known accelerator"):
        run("prices", "update", "--file", path, "--output", tmp_path / "mine.csv")


def test_a_price_that_is_rejected_is_not_written(run, aws_file, tmp_path):
    sheet, path = tmp_path / "mine.csv", aws_file(usd="700")
    good, bad = aws_file(usd="54").read_text().splitlines()[-1], path

    bad.write_text(
        path.read_text() + good.replace('"54"', '"700"').replace("us-east-1", "us-west-2")
    )
    output = run("prices", "update", "--file", bad, "--output", sheet)

    assert "1 of 2 rows are usable, 1 rejected" in " ".join(output.split())
    assert "us-west-2" not in sheet.read_text()


def test_a_file_that_is_no_bulk_file_says_which_there_are(run, tmp_path):
    path = tmp_path / "page.json"
    path.write_text('{"error": "no"}')

    with pytest.raises(UsageError, match="retail prices"):
        run("prices", "update", "--file", path, "--output", tmp_path / "mine.csv")


def test_google_without_a_key_says_how_to_give_one(run, tmp_path):
    with pytest.raises(SettingsError, match="PERFLEDGER_GOOGLE_API_KEY"):
        run("prices", "update", "--provider", "google", "--output", tmp_path / "mine.csv")

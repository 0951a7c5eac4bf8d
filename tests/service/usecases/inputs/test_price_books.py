"""Every price says which layer it comes from: packaged, fetched, own, or worked out."""

import json

import pytest
from typer.testing import CliRunner

from perfledger_cost_models.prices.price_sheet import COLUMNS
from perfledger_service.cli.app import app

ROW = (
    "aws,{sku},us-east-1,H100-80GB,{count},on_demand,,{usd},{each},2026-11-20,2026-11-20,high,"
    "a file,"
)
OWN = """
[[discount]]
provider = "azure"
share = 0.1
models = ["on_demand"]
as_of = 2026-07-01
source = "agreement"
[[price]]
provider = "aws"
sku = "p5.48xlarge"
region = "us-east-1"
accelerator = "H100-80GB"
count = 8
model = "savings_plan"
term = "3y_no_upfront"
per_hour = 21
currency = "USD"
as_of = 2026-10-01
source = "quote"
"""


@pytest.fixture
def layers(tmp_path):
    fetched, contract, own = (tmp_path / name for name in ("f.csv", "c.csv", "own.toml"))
    header = ",".join(COLUMNS)
    fetched.write_text(f"{header}\n{ROW.format(sku='p5.48xlarge', count=8, usd=55, each=6.875)}\n")
    contract.write_text(f"{header}\n{ROW.format(sku='p5.4xlarge', count=1, usd=5, each=5)}\n")
    own.write_text(OWN)
    return ("--prices", fetched, "--overrides", own, "--contract", contract)


@pytest.fixture
def run(layers):
    def run(*words):
        texts = [*words, *map(str, layers), "--format", "json"]
        done = CliRunner().invoke(app, texts)
        assert done.exit_code == 0, done.output
        return json.loads(done.stdout)

    return run


LAYERS = {
    "aws:p5.48xlarge/on_demand": "live",
    "aws:p5.4xlarge/on_demand": "override",
    "aws:p5.48xlarge/savings_plan/3y_no_upfront": "override",
    "azure:Standard_ND96isr_H100_v5/on_demand": "derived",
    "lambda:8x H100 SXM/on_demand": "snapshot",
}


def test_a_list_says_where_each_price_comes_from(run):
    rows = run("prices", "list")["prices"]

    provenances = {f"{row['provider']}:{row['option']}": row["provenance"] for row in rows}
    assert LAYERS.items() <= provenances.items()
    assert provenances["gcp:tpu-v4/committed_use/1y"] == "unknown"


@pytest.mark.slow(ci_only=True)
def test_a_comparison_says_where_each_price_comes_from(run):
    options = run("cost", "compare")["options"]

    provenances = {each["name"]: each["provenance"] for each in options}
    assert LAYERS.items() <= provenances.items()
    assert provenances["onprem-8xH100"] == "derived"


@pytest.mark.parametrize(
    ("where", "layer"),
    [("p5.48xlarge/on_demand", "live"), ("tpu-v4-8/spot", "derived")],
)
def test_the_price_of_a_change_says_where_its_rate_comes_from(run, where, layer):
    ratio = ("--ratio", "1.05", "--interval", "1.03", "1.07", "--device-hours", "1000")

    (price,) = run("cost", "change", *ratio, "--purchase-option", where)["prices"]

    assert price["rate"]["provenance"] == layer


@pytest.mark.parametrize("name", ["own.csv", "own.toml"])
def test_a_provider_in_capitals_is_the_same_provider(tmp_path, name):
    """Else the published price of the instance would apply, without a word."""
    table = ROW.format(sku="p5.48xlarge", count=8, usd=50, each=6.25).replace("aws", "AWS", 1)
    toml = OWN[OWN.index("[[price]]") :].replace('"aws"', '"AWS"').replace("= 21", "= 50")
    toml = toml.replace("savings_plan", "on_demand").replace('term = "3y_no_upfront"\n', "")
    path = tmp_path / name
    path.write_text(f"{','.join(COLUMNS)}\n{table}\n" if name.endswith("csv") else toml)

    done = CliRunner().invoke(app, ["prices", "list", "--overrides", str(path), "--format", "json"])

    overrides = [
        each for each in json.loads(done.stdout)["prices"] if each["provenance"] == "override"
    ]
    assert [(each["provider"], each["option"]) for each in overrides] == [
        ("aws", "p5.48xlarge/on_demand")
    ]

"""A server that answers as the providers' price services do."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

# Written by hand in the shape of each service's answers.
AWS = (
    '"FormatVersion","v1.0"\n"Publication Date","2026-11-21T00:00:00Z"\n'
    '"SKU","OfferTermCode","TermType","EffectiveDate","Unit","PricePerUnit","Currency",'
    '"LeaseContractLength","PurchaseOption","OfferingClass","Instance Type","Tenancy",'
    '"Operating System","CapacityStatus","Pre Installed S/W","Region Code","MarketOption"\n'
    '"A","B","OnDemand","2025-06-01","Hrs","55.04","USD","","","","p5.48xlarge","Shared","Linux",'
    '"Used","NA","us-east-1","OnDemand"\n'
)
PLANS = (
    "FormatVersion,v1.0\nPublication Date,2026-11-20T18:44:47Z\n"
    "OfferCode,AmazonComputeSavingsPlan\n"
    "SKU,RateCode,Unit,EffectiveDate,DiscountedRate,Currency,DiscountedSKU,DiscountedServiceCode,"
    "DiscountedUsageType,DiscountedOperation,PurchaseOption,LeaseContractLength,"
    "LeaseContractLengthUnit,Product Family,DiscountedRegionCode,DiscountedInstanceType\n"
    "A,A.B,Hrs,2026-06-05T18:51:13Z,23.777,USD,B,AmazonEC2,BoxUsage:p5.48xlarge,RunInstances,"
    "No Upfront,3,year,EC2InstanceSavingsPlans,us-east-1,p5.48xlarge\n"
)
PLANS_PATH = "/savingsPlan/v1.0/aws/AWSComputeSavingsPlan"
PLANS_INDEX = {
    "regions": [
        {
            "regionCode": "us-east-1",
            "versionUrl": f"{PLANS_PATH}/20261120184447/us-east-1/index.json",
        }
    ]
}
ITEM = {
    "currencyCode": "USD",
    "retailPrice": 98.32,
    "armRegionName": "eastus",
    "effectiveStartDate": "2024-01-01T00:00:00Z",
    "meterName": "ND96isr H100 v5",
    "productName": "Virtual Machines NDsr H100 v5 Series",
    "skuName": "ND96isr H100 v5",
    "serviceName": "Virtual Machines",
    "unitOfMeasure": "1 Hour",
    "type": "Consumption",
    "armSkuName": "Standard_ND96isr_H100_v5",
}


def google_sku(description, units, nanos):
    price = {"currencyCode": "USD", "units": str(units), "nanos": nanos}
    expression = {"usageUnit": "h", "tieredRates": [{"unitPrice": price}]}
    return {
        "description": description,
        "category": {"resourceFamily": "Compute", "usageType": "OnDemand"},
        "serviceRegions": ["us-central1"],
        "pricingInfo": [{"pricingExpression": expression, "effectiveTime": "2026-09-26T00:00:00Z"}],
    }


class PriceServer(ThreadingHTTPServer):
    """Remembers what was asked; `answers` replaces what one path says."""

    def __init__(self, handler):
        super().__init__(("127.0.0.1", 0), handler)
        self.requests, self.answers = [], {}

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}"


class Services(BaseHTTPRequestHandler):
    """The three services on one port."""

    server: PriceServer

    def do_GET(self):
        parts = urlsplit(self.path)
        query = parse_qs(parts.query)
        self.server.requests.append((parts.path, query, dict(self.headers)))
        status, body, headers = self.server.answers.get(parts.path) or self.usual(parts.path, query)
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def usual(self, path, query):
        root = self.server.url
        if path.startswith(PLANS_PATH):
            is_index = path == f"{PLANS_PATH}/current/region_index.json"
            return 200, (json.dumps(PLANS_INDEX) if is_index else PLANS).encode(), {}
        if path.endswith("index.csv"):
            return 200, AWS.encode(), {}
        if path == "/api/retail/prices":
            is_second = "$skip" in query
            other = ITEM | {"armRegionName": "westeurope", "retailPrice": 127.816}
            link = None if is_second else f"{root}/api/retail/prices?$skip=1"
            page = {"Items": [other if is_second else ITEM], "NextPageLink": link}
            return 200, json.dumps(page).encode(), {}
        is_second = query.get("pageToken") == ["next"]
        sku = google_sku("TpuV5e Running in Iowa", 1, 200_000_000)
        page = {"skus": [sku], "nextPageToken": "" if is_second else "next"}
        return 200, json.dumps(page).encode(), {}

    def log_message(self, *_):
        pass


@contextmanager
def running() -> Iterator[PriceServer]:
    """Serve the three services on a free loopback port."""
    server = PriceServer(Services)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


class Progress:
    """Counts what arrives, and names what began."""

    def __init__(self):
        self.totals, self.count = {}, 0

    def began(self, name, *, total_bytes):
        self.totals[name] = total_bytes

    def received(self, count):
        self.count += count

import pytest

from perfledger_service.errors import PriceServiceError
from perfledger_service.price_services import download
from perfledger_service.price_services.download import (
    CHUNK_BYTES,
    MAX_LINE_BYTES,
    Downloader,
    check_address,
)

KEY = "AIza-not-a-real-key"


@pytest.fixture
def lines_of(services, downloader):
    """Return a function that downloads what the server answers, line by line."""

    def lines_of(content, headers=None):
        services.answers["/list.csv"] = 200, content, headers or {}
        return list(downloader.lines(f"{services.url}/list.csv", root=services.url))

    return lines_of


@pytest.fixture
def page_of(services, downloader):
    """Return a function that downloads what the server answers as a page."""

    def page_of(status=200, content=b"", headers=None, *, most=1000):
        services.answers["/page"] = status, content, headers or {}
        url = f"{services.url}/page"
        params = {"key": KEY}
        return downloader.page(url, root=services.url, params=params, headers={}, most=most)

    return page_of


@pytest.mark.parametrize(
    ("content", "lines"),
    [
        (b"", []),
        (b"a\nb\n", ["a\n", "b\n"]),
        (b"a\r\n\nb", ["a\r\n", "\n", "b"]),
        ("\N{SNOWMAN}\n".encode() * 2, ["\N{SNOWMAN}\n"] * 2),
    ],
)
def test_lines_come_with_their_ends(lines_of, content, lines):
    assert lines_of(content) == lines


def test_a_line_and_a_character_that_span_two_chunks_are_whole(lines_of):
    filler = "x" * (CHUNK_BYTES - 2)

    assert lines_of(f"{filler}\N{SNOWMAN}y\nz".encode()) == [f"{filler}\N{SNOWMAN}y\n", "z"]


def test_a_line_without_an_end_is_an_error(lines_of):
    with pytest.raises(PriceServiceError, match="line of over"):
        lines_of(b"x" * (MAX_LINE_BYTES + CHUNK_BYTES))


@pytest.mark.parametrize("content", [b"a\n\xff\n", b"a\n\xff"])
def test_a_list_that_is_not_text_is_an_error(lines_of, content):
    with pytest.raises(PriceServiceError, match="is not UTF-8 text"):
        lines_of(content)


def test_a_file_over_the_limit_is_not_read_to_its_end(lines_of, monkeypatch):
    monkeypatch.setattr(download, "MAX_FILE_BYTES", 3)

    with pytest.raises(PriceServiceError, match="more than 3 bytes"):
        lines_of(b"a\nb\n")


def test_a_page_of_just_the_limit_is_read_and_one_over_it_is_not(page_of):
    assert page_of(content=b"x" * 1000, most=1000) == b"x" * 1000
    with pytest.raises(PriceServiceError, match="more than 999 bytes"):
        page_of(content=b"x" * 1000, most=999)


def test_progress_knows_the_size_and_never_the_key(page_of, progress, services):
    page_of(content=b"x" * 300)

    assert progress.totals == {f"{services.url}/page": 300}
    assert progress.count == 300
    assert services.requests[0][1] == {"key": [KEY]}


def test_a_redirect_is_not_followed(page_of, services):
    with pytest.raises(PriceServiceError, match="page redirects: open the address"):
        page_of(302, headers={"Location": f"{services.url}/elsewhere"})
    assert len(services.requests) == 1


@pytest.mark.parametrize("status", [204, 403, 429, 500])
def test_an_error_says_what_was_answered_and_not_the_key(page_of, status):
    with pytest.raises(PriceServiceError, match=f"page answered {status}: ") as caught:
        page_of(status)
    assert KEY not in str(caught.value)


def test_a_download_ends_at_its_deadline(services, progress):
    clock = iter([0.0, 1e9])
    downloader = Downloader(progress, monotonic=lambda: next(clock))
    services.answers["/page"] = 200, b"x", {}

    with pytest.raises(PriceServiceError, match="no prices after 1,800 s"):
        downloader.page(f"{services.url}/page", root=services.url, params={}, headers={}, most=9)
    downloader.close()


def test_a_service_that_does_not_answer_is_named_without_its_parameters(downloader):
    root = "http://127.0.0.1:9"

    with pytest.raises(PriceServiceError, match="did not answer") as caught:
        downloader.page(f"{root}/x", root=root, params={"key": KEY}, headers={}, most=9)
    assert KEY not in str(caught.value)


def test_an_address_elsewhere_is_not_asked(services, downloader):
    with pytest.raises(PriceServiceError, match="is not at"):
        list(downloader.lines(f"{services.url}/x", root="https://prices.azure.com"))
    assert services.requests == []


@pytest.mark.parametrize(
    ("url", "root"),
    [
        ("http://prices.azure.com/x", "http://prices.azure.com"),
        ("https://prices.azure.com.evil.example/x", "https://prices.azure.com"),
        ("https://prices.azure.com@evil.example/x", "https://prices.azure.com"),
        ("https://prices.azure.com:8443/x", "https://prices.azure.com"),
        ("file:///etc/passwd", "https://prices.azure.com"),
        ("http://[::1", "https://prices.azure.com"),
        ("http://[::1", "http://[::1"),
    ],
)
def test_only_https_at_the_same_host_and_port_is_read(url, root):
    with pytest.raises(PriceServiceError, match="is not at"):
        check_address(url, root=root)


@pytest.mark.parametrize(
    ("url", "root"),
    [
        ("https://prices.azure.com:443/api/retail/prices", "https://prices.azure.com"),
        ("https://PRICES.azure.com/x", "https://prices.azure.com"),
        ("http://127.0.0.1:8080/x", "http://127.0.0.1:8080"),
        ("http://[::1]:8080/x", "http://[::1]:8080"),
    ],
)
def test_the_usual_port_may_be_written_out_and_this_machine_needs_no_https(url, root):
    check_address(url, root=root)

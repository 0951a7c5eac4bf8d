import gzip
from io import BytesIO
from zipfile import ZIP_DEFLATED, ZipFile

import pytest

from perfledger_service.errors import TooLargeError, UsageError
from perfledger_service.usecases.inputs.packed_files import unpack

LOG = "submit_time,duration\n0,5\n"
MANY = 10_000


def zipped(**files):
    buffer = BytesIO()
    with ZipFile(buffer, "w", ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name.replace("__slash__", "/"), content)
    return buffer.getvalue()


@pytest.mark.parametrize(
    "data",
    [
        LOG.encode(),
        gzip.compress(LOG.encode()),
        gzip.compress(LOG[:9].encode()) + gzip.compress(LOG[9:].encode()),
        zipped(log=LOG),
        zipped(log=LOG, __MACOSX__slash__log="x"),
        LOG.encode("utf-8-sig"),
        LOG.encode("utf-16"),
        gzip.compress(b"\xfe\xff" + LOG.encode("utf-16-be")),
    ],
    ids=["plain", "gzip", "members", "zip", "zip of macOS", "UTF-8", "UTF-16", "packed UTF-16"],
)
def test_a_log_is_the_same_however_it_is_packed(data):
    assert unpack(data, "log", most_bytes=MANY) == LOG.encode()


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (gzip.compress(LOG.encode())[:-9], "log is a gzip file that ends early"),
        (b"\x1f\x8b" + b"x" * 50, "log is a damaged gzip file"),
        (zipped(log=LOG)[:-30], "log is a zip file that cannot be unpacked"),
        (zipped(a=LOG, b=LOG), r"log has 2 files \('a', 'b'\): unpack it and give one"),
        (b"\xff\xfe\x00", "log, line 1, is not UTF-16 text: save it as UTF-8"),
    ],
)
def test_a_damaged_file_or_several_are_an_error(data, message):
    with pytest.raises(UsageError, match=message):
        unpack(data, "log", most_bytes=MANY)


@pytest.mark.parametrize("pack", [gzip.compress, lambda data: zipped(log=data)])
def test_a_small_file_that_unpacks_to_a_large_one_is_refused(pack):
    packed = pack(b"0" * 1_000_000)

    assert len(packed) < MANY
    with pytest.raises(TooLargeError, match="more than 10,000 bytes unpacked"):
        unpack(packed, "log", most_bytes=MANY)


@pytest.mark.parametrize("pack", [gzip.compress, lambda data: zipped(log=data)])
def test_a_file_of_the_largest_size_is_unpacked(pack):
    assert unpack(pack(b"0" * MANY), "log", most_bytes=MANY) == b"0" * MANY
    with pytest.raises(TooLargeError):
        unpack(pack(b"0" * (MANY + 1)), "log", most_bytes=MANY)

import gzip
import random
import resource

import pytest
from hypothesis import given, settings, strategies as st

from perfledger.records import Side
from perfledger_profiles.parsing import chrome_trace_json, gzip_input
from perfledger_profiles.parsing.chrome_trace_events import UNUSED, TraceEventBatch
from perfledger_profiles.parsing.chrome_trace_json import max_unpacked_bytes, read_batches
from perfledger_profiles.parsing.errors import ProfileError
from perfledger_profiles.torch_profiler.kineto import read_kineto
from tests.suite.tries import tries

EVENT = '{"ph": "X", "cat": "cpu_op", "name": "%s", "pid": 1, "tid": 1, "ts": %d, "dur": 5}'


def text_of(*names, tail="]}"):
    events = ",\n".join(EVENT % (name, 10 * n) for n, name in enumerate(names))
    return '{"schemaVersion": 1, "traceEvents": [\n' + events + "\n" + tail


def read_events(source):
    """Read all batches, and return them as one."""
    batches = list(read_batches(source))
    return TraceEventBatch(
        events=[event for batch in batches for event in batch.events],
        dropped=sum(batch.dropped for batch in batches),
        notes=tuple(note for batch in batches for note in batch.notes),
        header=next((batch.header for batch in batches if batch.header), None),
    )


def names(read):
    return [event.name for event in read.events if event.cat not in UNUSED]


def test_a_bare_list_of_events_is_a_trace_too():
    assert names(read_events(f"[{EVENT % ('a', 1)}]".encode())) == ["a"]


def test_keys_that_are_not_needed_may_hold_anything():
    text = text_of("a").replace('"dur": 5', '"dur": 5, "args": {"Call stack": {"deep": [1]}}')

    assert names(read_events(text.encode())) == ["a"]


def test_of_a_key_that_comes_twice_the_last_counts():
    (event,) = read_events(text_of("a").replace('"dur": 5', '"dur": 5, "dur": 7').encode()).events

    assert event.dur == 7


@pytest.mark.parametrize("phase", ["s", "t", "f", "M"])
def test_arrows_and_labels_are_passed_over(phase):
    arrow = f'{{"ph": "{phase}", "cat": "ac2g", "name": "arrow", "ts": 1}}'
    text = f"[{EVENT % ('a', 1)}, {arrow}, {EVENT % ('b', 2)}]"

    assert names(read_events(text.encode())) == ["a", "b"]


@pytest.mark.parametrize("phase", ['"ph": "B", ', '"ph": 7, ', '"ph": null, ', "", '"ph": "i", '])
def test_events_of_any_other_phase_are_read_alike(phase):
    text = text_of("a", "b").replace('"ph": "X", ', phase, 1)

    read = read_events(text.encode())

    assert [(event.name, event.ts, event.dur) for event in read.events] == [
        ("a", 0, 5),
        ("b", 10, 5),
    ]
    assert read.dropped == 0


def test_the_phase_of_an_event_may_come_last():
    text = text_of("a", "b").replace('"ph": "X", ', "").replace('"dur": 5', '"dur": 5, "ph": "X"')

    assert names(read_events(text.encode())) == ["a", "b"]


CUT_OFF = "the file is cut off: events are missing at its end"


@pytest.fixture
def many():
    noise = random.Random(1)
    return [f"op {noise.getrandbits(64):x}" for _ in range(4000)]


def test_a_packed_file_that_is_cut_off_is_read_up_to_there_and_says_so(many):
    packed = gzip.compress(text_of(*many).encode(), mtime=0)

    read = read_events(packed[: len(packed) // 2])

    assert 1000 < len(read.events) < 3999
    assert names(read) == many[: len(read.events)]
    assert (read.dropped, read.notes) == (1, (CUT_OFF,))


def test_a_packed_file_that_is_damaged_is_read_up_to_there(many):
    packed = bytearray(gzip.compress(text_of(*many).encode(), mtime=0))
    packed[-6] ^= 0xFF  # the checksum

    read = read_events(bytes(packed))

    assert 1000 < len(read.events) < 4000
    assert names(read) == many[: len(read.events)]
    assert (read.dropped, read.notes) == (1, (CUT_OFF,))


def test_a_file_of_several_packed_members_is_read_whole():
    text = text_of("a", "b", "c").encode()
    packed = b"".join(gzip.compress(part, mtime=0) for part in (text[:50], text[50:])) + b"\0\0"

    assert names(read_events(packed)) == ["a", "b", "c"]


@pytest.fixture
def small_batches(monkeypatch):
    monkeypatch.setattr(chrome_trace_json, "BATCH_BYTES", 600)
    monkeypatch.setattr(chrome_trace_json, "_PLAIN_BYTES", 250)
    monkeypatch.setattr(gzip_input, "PIECE_BYTES", 20)


@pytest.mark.usefixtures("small_batches")
@pytest.mark.parametrize("pack", [bytes, gzip.compress])
@pytest.mark.parametrize("opening", ['{"schemaVersion": 1, "traceEvents": [', "  ["])
def test_a_file_is_read_in_pieces_that_end_between_events(many, pack, opening):
    closing = "]" if "[" in opening.strip()[:1] else '], "traceName": "t"}'
    text = opening + ",\n".join(EVENT % (name, 1) for name in many[:50]) + closing

    batches = list(read_batches(pack(text.encode())))

    assert [event.name for batch in batches for event in batch.events] == many[:50]
    assert len(batches) > 5
    assert sum(batch.dropped for batch in batches) == 0


@pytest.mark.usefixtures("small_batches")
def test_what_is_malformed_costs_its_own_event_in_any_piece(many):
    text = text_of(*many[:50]).replace(f'"name": "{many[20]}"', '"name": null')
    text = text.replace(many[40], 'say "hi"')

    read = read_events(text.encode())

    assert names(read) == [*many[:20], *many[21:40], 'say "hi"', *many[41:50]]
    assert read.dropped == 1


@pytest.mark.usefixtures("small_batches")
def test_events_that_hold_lists_of_events_are_not_cut_apart():
    inner = '"args": {"a": [{"ph": "X"}, {"ph": "X"}, {"ph": "X"}]}, "dur": 5'
    text = text_of(*map(str, range(40))).replace('"dur": 5', inner)

    read = read_events(text.encode())

    assert len(names(read)) + read.dropped >= 40
    assert len(names(read)) > 30


def test_a_path_is_read_like_bytes(tmp_path, many):
    path = tmp_path / "trace.json.gz"
    path.write_bytes(gzip.compress(text_of(*many).encode(), mtime=0))

    assert names(read_events(path)) == many


def test_what_stands_before_the_events_is_kept_as_json():
    text = '{"deviceProperties": [{"id": 0}], "host_name": "box", ' + text_of("a")[1:]

    header = read_events(text.encode()).header

    assert bytes(header.devices) == b'[{"id": 0}]'
    assert bytes(header.distributed) == b""


def test_bad_utf8_costs_one_character():
    data = text_of("a", "b?c").encode().replace(b"?", b"\xff")

    read = read_events(data)

    assert names(read) == ["a", "b\ufffdc"]
    assert read.dropped == 0


def test_quotes_and_backslashes_that_were_not_escaped_are_repaired():
    read = read_events(text_of('say "hi"', r"C:\Users\x.py", "plain").encode())

    assert names(read) == ['say "hi"', r"C:\Users\x.py", "plain"]
    assert read.dropped == 0


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a\tb", "a b"),
        (r"a\ud800b", "a\ufffdb"),
        (r"\udc00\ud83d\ude00\ude00", "\ufffd\U0001f600\ufffd"),
    ],
)
def test_characters_that_json_does_not_allow_are_replaced(name, text):
    read = read_events(text_of(name, "plain").encode())

    assert (names(read), read.dropped) == ([text, "plain"], 0)


def test_a_comma_behind_the_last_event_costs_nothing():
    read = read_events(text_of("a", "b", tail=",]}").encode())

    assert (names(read), read.dropped) == (["a", "b"], 0)


def test_of_two_lists_of_events_both_are_read_and_what_is_lost_between_them_counts():
    text = text_of("a", "b", tail="]") + ", " + text_of("c", "d")[1:]

    read = read_events(text.encode())

    assert (names(read), read.dropped) == (["a", "d"], 1)


@pytest.mark.parametrize(
    "broken",
    ['"dur": 1e400', '"dur": NaN', '"dur": Infinity', '"dur": "long"', '"dur": {', '"name": null'],
)
def test_an_event_that_cannot_be_read_costs_only_itself(broken):
    text = text_of("a", "b", "c").replace('"ts": 10, "dur": 5', f'"ts": 10, {broken}')

    read = read_events(text.encode())

    assert names(read) == ["a", "c"]
    assert read.dropped == 1


def test_nesting_too_deep_for_the_parser_costs_one_event():
    deep = '"dur": 5, "args": {"a": ' + "[" * 1_000_000 + "]" * 1_000_000 + "}"
    text = text_of("a", "b").replace('"ts": 10, "dur": 5', f'"ts": 10, {deep}')

    read = read_events(text.encode())

    assert names(read) == ["a"]
    assert read.dropped == 1


@pytest.mark.parametrize(
    "data", [b"", b"hello", b"{}", b'{"traceEvents": {}}', b"\x1f\x8b", b"\x1f\x8bgarbage", b"[1]"]
)
def test_what_is_no_trace_is_an_error(data):
    with pytest.raises(ProfileError, match="Chrome trace"):
        read_events(data)


def test_a_bomb_is_refused_before_it_is_unpacked(monkeypatch):
    monkeypatch.setattr(chrome_trace_json, "RATIO_APPLIES_BYTES", 2**18)
    bomb = gzip.compress(b"\0" * 2**20, mtime=0)

    with pytest.raises(ProfileError, match="unpacks to more than 256 times its size"):
        read_events(bomb)


def test_a_trace_above_the_limit_is_refused(monkeypatch):
    monkeypatch.setattr(chrome_trace_json, "MAX_UNPACKED_BYTES", 200)
    data = text_of("a", "b", "c").encode()

    for form in (data, gzip.compress(data)):
        with pytest.raises(ProfileError, match="larger than 200 bytes: profile fewer steps"):
            read_events(form)


@pytest.mark.parametrize(
    ("gibibytes", "mebibytes"), [(None, 512), (1, 512), (3, 1024), (4.5, 1536)]
)
def test_a_limit_of_the_processes_memory_raises_that_of_a_trace(monkeypatch, gibibytes, mebibytes):
    limit = resource.RLIM_INFINITY if gibibytes is None else int(gibibytes * 2**30)
    monkeypatch.setattr(resource, "getrlimit", lambda _: (limit, resource.RLIM_INFINITY))

    assert max_unpacked_bytes() == mebibytes * 2**20


@given(batch=st.integers(1, 3000), plain_size=st.integers(1, 700), is_packed=st.booleans())
@settings(max_examples=tries(30), deadline=None)
def test_pieces_of_any_size_give_the_same_events(batch, plain_size, is_packed):
    names_in_file = [f"op {number} {{}}, {{" for number in range(30)]
    data = text_of(*names_in_file, tail='], "traceName": "t"}').encode()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(chrome_trace_json, "BATCH_BYTES", batch)
        patch.setattr(chrome_trace_json, "_PLAIN_BYTES", plain_size)
        patch.setattr(gzip_input, "PIECE_BYTES", plain_size)

        read = read_events(gzip.compress(data) if is_packed else data)

    assert (names(read), read.dropped) == (names_in_file, 0)


def test_a_name_of_megabytes_costs_its_length_not_its_square(monkeypatch):
    monkeypatch.setattr(chrome_trace_json, "BATCH_BYTES", 1000)
    monkeypatch.setattr(chrome_trace_json, "_PLAIN_BYTES", 500)
    long = "x" * 4_000_000

    assert names(read_events(text_of("a", long, "b").encode())) == ["a", long, "b"]


def test_a_trace_of_too_many_events_is_refused(monkeypatch):
    monkeypatch.setattr(chrome_trace_json, "MAX_EVENTS", 2)

    assert len(read_events(text_of("a", "b").encode()).events) == 2
    with pytest.raises(ProfileError, match="more than 2 events: profile fewer steps"):
        read_events(text_of("a", "b", "c").encode())


@pytest.mark.slow
@settings(max_examples=tries(80), deadline=None)
@given(st.data())
def test_whatever_happens_to_a_file_it_is_read_or_refused(data):
    plain_content = text_of("ProfilerStep#1", "a", "b").encode()
    raw = bytearray(
        data.draw(st.sampled_from([plain_content, gzip.compress(plain_content, mtime=0)]))
    )
    for _ in range(data.draw(st.integers(0, 4))):
        raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(0, len(raw)))

    try:
        profile = read_kineto(bytes(raw[:cut]), workload="m:f", side=Side.BASE)
    except ProfileError:
        return

    assert sum(o.seconds for o in profile.operations) == pytest.approx(profile.step_seconds)


def test_names_that_never_end_cost_their_event_at_once():
    endless = '"dur": oops, ' + '"name":"' * 2_000 + "x"
    text = text_of(*("a",) * 50).replace('"dur": 5', endless)

    with pytest.raises(ProfileError, match="no event"):
        read_events(text.encode())


def test_blanks_behind_the_last_event_cost_their_length_not_its_square():
    cut_off = text_of("a", "b").rpartition("]")[0] + " " * 100_000

    read = read_events(cut_off.encode())

    assert names(read) == ["a"]
    assert read.dropped == 1

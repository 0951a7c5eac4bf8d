import math
from datetime import UTC, date, datetime
from decimal import ROUND_HALF_EVEN, Decimal

import pytest
from hypothesis import given, settings, strategies as st

from perfledger_service.rendering.layout import number_format

floats = st.floats(allow_nan=True, allow_infinity=True)
amounts = st.decimals(min_value=-(10**14), max_value=10**14, allow_nan=False)
SHOWN = (
    number_format.seconds,
    number_format.signed_seconds,
    number_format.byte_count,
    number_format.count,
    number_format.full_count,
    number_format.flops,
    number_format.share,
    number_format.whole_share,
    number_format.percent,
    number_format.margin,
)


def plain_text(text: str) -> str:
    return text.replace(number_format.NBSP, " ").replace("\N{MULTIPLICATION SIGN}", "x")


@settings(max_examples=60, deadline=None)
@given(floats, st.sampled_from(SHOWN))
def test_what_is_no_number_is_never_shown_and_zero_has_no_sign(value, output):
    text = output(value).lower()

    assert "nan" not in text
    assert "inf" not in text
    assert not text.startswith("-0 ")
    assert text.strip("-0. %sb\u00a0") != "" or not text.startswith("-")


@settings(max_examples=60, deadline=None)
@given(floats, floats, floats)
def test_an_interval_has_as_many_decimals_as_its_estimate(point, low, high):
    change, ends = number_format.change(point, low, high)

    if change == number_format.NOT_KNOWN:
        assert ends == number_format.NOT_KNOWN
    elif "\N{MULTIPLICATION SIGN}" not in change + ends:
        numbers = (
            change.removesuffix(f"{number_format.NBSP}%"),
            *ends.split(number_format.INTERVAL_TO),
        )
        assert len({len(number.partition(".")[2]) for number in numbers}) == 1


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (0.0, "0 s"),
        (12.3e-3, "12.3 ms"),
        (9.996e-4, "1.00 ms"),
        (0.9996, "1.00 s"),
        (8.71e-4, "871 µs"),
        (4.2e-9, "4.20 ns"),
        (1234.5, "1,230 s"),
        (1e-12, "0.00100 ns"),
        (1e-13, "0 s"),
        (1e20, "1.00 x 10²⁰ s"),
        (float("nan"), "not known"),
    ],
)
def test_seconds(value, expected):
    assert plain_text(number_format.seconds(value)) == expected


@pytest.mark.parametrize(
    ("value", "expected"), [(1.92e-3, "+1.92 ms"), (-2e-5, "-20.0 µs"), (0.0, "0 s")]
)
def test_signed_seconds(value, expected):
    assert plain_text(number_format.signed_seconds(value)) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [(0, "0 B"), (512, "512 B"), (1.52 * 2**30, "1.52 GiB"), (2**50, "1,020 TiB")],
)
def test_byte_count(value, expected):
    assert plain_text(number_format.byte_count(value)) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (83_214, "83,210"),
        (12, "12"),
        (1.25, "1.250"),
        (-0.0, "0"),
        (1e16, "1.000 x 10¹⁶"),
        (1e200, "not known"),
    ],
)
def test_count(value, expected):
    assert plain_text(number_format.count(value)) == expected


def test_a_whole_number_of_things_keeps_all_its_digits():
    assert [*map(number_format.full_count, (26_723.0, 0.86524))] == ["26,723", "0.8652"]


@pytest.mark.parametrize(
    ("value", "expected"), [(4.31e9, "4.31 GFLOP"), (0, "0 FLOP"), (999.9e9, "1.00 TFLOP")]
)
def test_flops(value, expected):
    assert plain_text(number_format.flops(value)) == expected
    assert plain_text(number_format.flops_per_second(value)) == f"{expected}/s"


@pytest.mark.parametrize(
    ("value", "expected"),
    [(1.5566e12, "1.56 TB/s"), (2.1e11, "210 GB/s"), (0, "0 B/s"), (float("nan"), "not known")],
)
def test_bandwidths_are_decimal_as_makers_state_them(value, expected):
    assert plain_text(number_format.bytes_per_second(value)) == expected


@pytest.mark.parametrize(
    ("value", "expected"), [(1.41e9, "1.41 GHz"), (0, "0 Hz"), (float("inf"), "not known")]
)
def test_hertz(value, expected):
    assert plain_text(number_format.hertz(value)) == expected


def test_work_that_is_no_number_has_no_unit():
    assert number_format.flops_per_second(float("nan")) == "not known"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (0.182, "+18.2 %"),
        (-0.00004, "0.00 %"),
        (0.0031, "+0.31 %"),
        (0.00993, "+0.99 %"),
        (0.01, "+1.0 %"),
        (-0.046, "-4.6 %"),
        (0.993, "+99.3 %"),
        (1.0, "+100 %"),
        (12.5, "+1,250 %"),
        (1e30, "1.0 x 10³⁰ times"),
        (1e300, "not known"),
    ],
)
def test_percent(value, expected):
    assert plain_text(number_format.percent(value)) == expected


def test_a_change_of_more_than_a_hundredfold_is_a_factor():
    assert plain_text(number_format.percent(99.9)) == "+9,990 %"
    assert plain_text(number_format.percent(100.0)) == "100 times"
    assert plain_text(number_format.percent(92_521.41)) == "93,000 times"
    assert number_format.percent(float("inf")) == number_format.NOT_KNOWN
    assert plain_text(number_format.share(316.0)) == "31,600 %"


def test_a_change_is_shown_with_its_interval():
    assert tuple(map(plain_text, number_format.change(0.182, 0.169, 0.196))) == (
        "+18.2 %",
        "+16.9 to +19.6",
    )
    assert plain_text(number_format.change(1e13, 1e13, 1e13)[0]) == "+1.00 x 10¹⁵ %"
    assert tuple(map(plain_text, number_format.change(0.001, -0.2, 0.196))) == (
        "+0.1 %",
        "-20.0 to +19.6",
    )


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("0", "0.00 USD"),
        ("0.125", "0.12 USD"),
        ("0.135", "0.14 USD"),
        ("99.994", "99.99 USD"),
        ("100", "100 USD"),
        ("12300.5", "12,300 USD"),
        ("-5", "-5.00 USD"),
        ("0.003389", "0.00339 USD"),
        ("0.0000001", "0.000000100 USD"),
        ("0.0000000001", "1.0 x 10⁻¹⁰ USD"),
        ("1e30", "1.0 x 10³⁰ USD"),
        ("NaN", "not known"),
        ("Infinity", "not known"),
    ],
)
def test_usd(value, expected):
    assert plain_text(number_format.usd(Decimal(value))) == expected


@settings(max_examples=60, deadline=None)
@given(amounts)
def test_dollars_are_rounded_half_to_even(amount):
    text = plain_text(number_format.usd(amount)).removesuffix(" USD").replace(",", "")

    if abs(amount) >= 100:
        assert Decimal(text) == amount.quantize(Decimal(1), ROUND_HALF_EVEN)
    elif abs(amount) >= Decimal("0.1"):
        assert Decimal(text) == amount.quantize(Decimal("0.01"), ROUND_HALF_EVEN)
    elif amount:
        assert text.strip("-0.")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("1234.565", "1,234.56"),
        ("-1234.5", "-1,234.50"),
        ("-0.001", "0.00"),
        ("999999999999999", "999,999,999,999,999.00"),
        ("1e15", "1.00 x 10¹⁵"),
        ("-1e60", "-1.00 x 10⁶⁰"),
        ("NaN", "not known"),
        ("-Infinity", "not known"),
    ],
)
def test_amounts_to_the_cent(value, text):
    assert plain_text(number_format.cents(Decimal(value))) == text


@pytest.mark.parametrize(
    ("amounts", "expected"),
    [
        (("12345", "10940", "13812"), ("12,300 USD", "10,900 to 13,800")),
        (("-12345", "-13812", "-10940"), ("12,300 USD", "10,900 to 13,800")),
        (("151.4", "-398.7", "703.2"), ("151 USD", "-399 to +703")),
        (("0.4", "0", "3.2"), ("0.40 USD", "0.00 to 3.20")),
        (("2e20", "1e20", "3e20"), ("2.00 x 10²⁰ USD", "1.00 x 10²⁰ to 3.00 x 10²⁰")),
        (("NaN", "0", "1"), ("not known", "not known")),
    ],
)
def test_a_yearly_amount_shows_no_more_digits_than_it_has(amounts, expected):
    assert tuple(map(plain_text, number_format.yearly_usd(*map(Decimal, amounts)))) == expected


def test_dates():
    assert number_format.day(date(2026, 11, 9)) == "2026-11-09"
    assert number_format.moment("2026-11-20T14:03:27+00:00") == "2026-11-20 14:03 UTC"
    assert number_format.moment(datetime(2026, 11, 20, 14, 3, tzinfo=UTC)) == "2026-11-20 14:03 UTC"
    assert number_format.moment("<b>") == "not known"


def test_a_period_is_its_first_and_last_day_and_empty_if_unknown():
    first, last = date(2026, 11, 9), date(2026, 11, 12)

    assert number_format.days(first, last).split() == ["2026-11-09", "to", "2026-11-12"]
    assert (number_format.days(None, last), number_format.days(first, None)) == ("", "")


@pytest.mark.parametrize(
    ("largest", "unit", "expected"),
    [
        (0.0123, "s", (1e3, "ms")),
        (1.5 * 2**30, "B", (2.0**-30, "GiB")),
        (0.9, "1", (100.0, "%")),
        (4e9, "FLOP", (1e-9, "GFLOP")),
        (4e9, "images", (1.0, "images")),
        (0.0, "s", (1.0, "s")),
    ],
)
def test_an_axis_has_the_unit_of_its_largest_value(largest, unit, expected):
    factor, axis = number_format.axis(largest, unit)

    assert (pytest.approx(factor), axis) == expected


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.5, "50 %"), (0.98765, "98.77 %"), (0.99995, "> 99.99 %"), (math.nan, "not known")],
)
def test_a_confidence_is_never_rounded_up_to_certainty(value, text):
    assert number_format.confidence(value).replace(number_format.NBSP, " ") == text


@pytest.mark.parametrize(("value", "text"), [(2.13, "2.1 times"), (math.inf, "not known")])
def test_a_factor_has_two_digits(value, text):
    assert number_format.factor(value).replace(number_format.NBSP, " ") == text


@pytest.mark.parametrize(
    ("value", "expected"),
    [(0.0, "0 B"), (1.5 * 2**30, "+1.50 GiB"), (-300.0, "-300 B"), (2**20, "+1.00 MiB")],
)
def test_signed_bytes(value, expected):
    assert plain_text(number_format.signed_bytes(value)) == expected


@pytest.mark.parametrize(
    ("text", "value", "expected"),
    [
        (number_format.duration, 0.5, "0.5 s"),
        (number_format.duration, 1, "1 s"),
        (number_format.duration, 60, "1 min"),
        (number_format.duration, 3600, "1 h"),
        (number_format.duration, 86_400, "1 d"),
        (number_format.count, 1e15, "1.000 x 10¹⁵"),
        (number_format.seconds, 1e15, "1.00 x 10¹⁵ s"),
        (number_format.seconds, 1e100, "not known"),
        (number_format.signed_bytes, 0, "0 B"),
        (number_format.signed_bytes, -1024, "-1.00 KiB"),
        (number_format.joules, 1000, "1.00 kJ"),
        (number_format.confidence, 0.9999, "99.99 %"),
        (number_format.confidence, 0.99991, "> 99.99 %"),
        (number_format.percent, 0.0099, "+0.99 %"),
        (number_format.percent, 0.01, "+1.0 %"),
        (number_format.percent, 1.0, "+100 %"),
        (number_format.percent, 100.0, "100 times"),
        (number_format.usd, Decimal("1e-6"), "0.00000100 USD"),
        (number_format.usd, Decimal("0.1"), "0.10 USD"),
        (number_format.usd, Decimal("1e15"), "1.0 x 10¹⁵ USD"),
        (number_format.cents, Decimal("1e15"), "1.00 x 10¹⁵"),
    ],
)
def test_a_limit_of_a_format_is_already_of_the_larger_one(text, value, expected):
    assert plain_text(text(value)) == expected


@pytest.mark.parametrize(
    "text",
    [
        number_format.duration(math.nan),
        number_format.duration(-math.inf),
        number_format.share(5e99),
        number_format.least_share(5e99),
        number_format.margin(5e99),
        *number_format.change(5e99, -5e99, 6e99),
    ],
)
def test_what_is_not_known_has_no_sign_and_no_unit(text):
    assert text == number_format.NOT_KNOWN


def test_a_yearly_interval_that_ends_at_zero_has_no_signs():
    gain, loss = (
        number_format.yearly_usd(*map(Decimal, amounts)) for amounts in ((-5, -10, 0), (5, 0, 10))
    )

    assert gain == loss
    assert "+" not in "".join(gain)


@pytest.mark.parametrize(
    ("number", "text"), [(0, "0 jobs"), (1, "1 job"), (2, "2 jobs"), (1024, "1,024 jobs")]
)
def test_one_thing_has_no_plural(number, text):
    assert number_format.quantity(number, "job") == text


@pytest.mark.parametrize(
    ("low", "high", "form", "text"),
    [
        (0.0012, 0.0034, number_format.seconds, "1.20 to 3.40 ms"),
        (0.0008, 0.0034, number_format.seconds, "800 µs to 3.40 ms"),
        (60.0, 600.0, number_format.duration, "1 to 10 min"),
        (1.0, 1.0, number_format.duration, "1 s"),
        (0.05, 0.12, number_format.share, "5.0 to 12.0 %"),
        ("2026-11-20 14:03", "2026-11-24 14:03", str, "2026-11-20 14:03 to 2026-11-24 14:03"),
        (3, 4, str, "3 to 4"),
    ],
)
def test_the_ends_of_an_interval_have_their_unit_once(low, high, form, text):
    interval = number_format.interval(low, high, form)

    assert plain_text(interval) == text


@pytest.mark.parametrize(
    ("hours", "text"), [(0.4421, "0.442 h"), (99.94, "99.9 h"), (36_288.4, "36,288 h"), (0, "0 h")]
)
def test_hours_are_whole_from_a_hundred_on(hours, text):
    assert plain_text(number_format.device_hours(hours)) == text


def test_a_change_is_written_with_its_interval():
    change = number_format.change_with_interval(0.182, 0.169, 0.196)

    assert plain_text(change) == "+18.2 % (+16.9 to +19.6)"


def test_an_amount_that_is_computed_is_written_as_an_exact_one():
    assert number_format.usd(1234.5) == number_format.usd(Decimal("1234.5"))
    assert number_format.usd(float("nan")) == number_format.NOT_KNOWN


def test_a_counted_change_has_no_interval():
    assert number_format.change_and_bounds(0.1, 0.1, 0.1)[1] == ""
    assert plain_text(number_format.change_and_bounds(0.1, 0.05, 0.15)[1]) == "+5.0 to +15.0"

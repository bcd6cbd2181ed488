"""The unit converter's script: what it prints, what it refuses, and that nothing is lost on the way."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

SKILLS = Path(__file__).resolve().parents[2] / "skills"
SCRIPT = "unit-converter", "scripts/convert.py"
RunScript = Callable[..., Any]


@pytest.fixture(scope="session")
def converter(load_module: Callable[[str], ModuleType]) -> ModuleType:
    return load_module("unit-converter/scripts/convert.py")


@pytest.fixture(scope="session")
def units(converter: ModuleType) -> list[Any]:
    return converter.load_units()


CONVERSIONS = [
    ("26.2", "miles", "km", "26.2 mi = 42.1648 km"),
    ("26.20", "mi", "km", "26.20 mi = 42.1648 km"),
    ("-40", "°C", "F", "-40 °C = -40 °F"),
    ("98.6", "fahrenheit", "Celsius", "98.6 °F = 37 °C"),
    ("0", "K", "°C", "0 K = -273.15 °C"),
    ("-459.67", "°F", "K", "-459.67 °F = 0 K"),
    ("-0", "m", "ft", "0 m = 0 ft"),
    ("150", "lb", "kg", "150 lb = 68.0389 kg"),
    ("150", "Pounds", "st", "150 lb = 10.7143 st"),
    ("1", "short ton", "lb", "1 short ton = 2000 lb"),
    ("1", "gal", "L", "1 US gal = 3.78541 L"),
    ("1", "imperial gallons", "litres", "1 imp gal = 4.54609 L"),
    ("1", "gallon", "cups", "1 US gal = 16 US cup"),
    ("2", "fl. oz.", "ml", "2 US fl oz = 59.1471 mL"),
    ("60", "mph", "km/h", "60 mph = 96.5606 km/h"),
    ("60", "miles per hour", "kph", "60 mph = 96.5606 km/h"),
    ("1", "knot", "km / h", "1 kn = 1.852 km/h"),
    ("32", "psi", "bar", "32 psi = 2.20632 bar"),
    ("1", "atm", "mmHg", "1 atm = 760 mmHg"),
    ("1.5", "kWh", "MJ", "1.5 kWh = 5.4 MJ"),
    ("1", "kcal", "J", "1 kcal = 4184 J"),
    ("1", "hp", "W", "1 hp = 745.7 W"),
    ("1", "MW", "mW", "1 MW = 1000000000 mW"),
    ("90", "minutes", "h", "90 min = 1.5 h"),
    ("1", "acre", "sq ft", "1 ac = 43560 ft²"),
    ("1", "m^2", "sq. ft.", "1 m² = 10.7639 ft²"),
    ("1", "MiB", "kB", "1 MiB = 1048.58 kB"),
    ("1", "TiB", "B", "1 TiB = 1099511627776 B"),
    ("100", "Mbit/s", "MB/s", "100 Mbit/s = 12.5 MB/s"),
    ("1", "Mb", "MB", "1 Mbit = 0.125 MB"),
    ("1", "\u03bcm", "nm", "1 µm = 1000 nm"),
    ("1", "ft-lbf", "J", "1 ft·lbf = 1.35582 J"),
    ("1e-300", "nm", "m", "1e-300 nm = 1e-309 m"),
    (26.2, "mi", "km", "26.2 mi = 42.1648 km"),
    (1e-07, "km", "mm", "0.0000001 km = 0.1 mm"),
]


@pytest.mark.parametrize(("value", "source", "target", "line"), CONVERSIONS)
def test_converts(value: object, source: str, target: str, line: str, converter: ModuleType) -> None:
    assert converter.answer([f"--value={value}", f"--from={source}", f"--to={target}"]) == line


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        ({"value": 26.2, "from": "miles", "to": "km"}, "26.2 mi = 42.1648 km"),
        ({"value": "20.50", "from": "℃", "to": "°F"}, "20.50 °C = 68.9 °F"),
        ({"value": 1, "from": "gal", "to": "L", "digits": 20}, "1 US gal = 3.785411784 L"),
        ({"value": 1, "from": "TiB", "to": "B", "digits": 3}, "1 TiB = 1100000000000 B"),
        ({"value": 2, "from": "m", "to": "ft", "digits": 1}, "2 m = 7 ft"),
        ({"value": 10, "from": "C", "to": "F", "difference": True}, "10 °C = 18 °F (difference)"),
        ({"value": -300, "from": "C", "to": "K", "difference": True}, "-300 °C = -300 K (difference)"),
        ({"value": 10, "from": "C", "to": "F", "difference": False}, "10 °C = 50 °F"),
        (["--value", "-40", "--from", "C", "--to", "F"], "-40 °C = -40 °F"),
        (["--to=km", "--value=1e3", "--from=m"], "1000 m = 1 km"),
    ],
)
def test_options_and_argument_lists(arguments: Any, line: str, run_script: RunScript) -> None:
    done = run_script(*SCRIPT, arguments)
    assert (done.code, done.err, done.out) == (0, "", f"{line}\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"value": 1, "from": "kg", "to": "km"}, "cannot convert kg (mass) to km (length)"),
        ({"value": 1, "from": "MW", "to": "MWh"}, "cannot convert MW (power) to MWh (energy)"),
        ({"value": 1, "from": "milse", "to": "km"}, "unknown unit 'milse' for --from; did you mean 'mi' (length)?"),
        ({"value": 1, "from": "m", "to": "kilometrs"}, "did you mean 'km' (length)"),
        ({"value": 1, "from": "mpa", "to": "bar"}, "did you mean 'MPa' (pressure)"),
        ({"value": 1, "from": "qqqqzz", "to": "m"}, "references/units.csv lists the known units"),
        ({"value": 1, "from": "", "to": "m"}, "unknown unit ''"),
        ({"value": 1, "from": "m\nm\x1b[31m", "to": "m"}, "unknown unit 'm\\nm\\x1b[31m'"),
        ({"value": 1, "from": "ton", "to": "kg"}, "write 't' (mass), 'short ton' (mass) or 'long ton' (mass)"),
        ({"value": 1, "from": "J", "to": "calories"}, "write 'cal' (energy) or 'kcal' (energy)"),
        ({"value": "nan", "from": "m", "to": "km"}, "'nan' is not a finite number"),
        ({"value": "Infinity", "from": "m", "to": "km"}, "not a finite number"),
        ({"value": "1,000", "from": "m", "to": "km"}, "no commas"),
        ({"value": "1_000", "from": "m", "to": "km"}, "not a finite number"),
        ({"value": "٣", "from": "m", "to": "km"}, "not a finite number"),
        ({"value": "5 ft", "from": "ft", "to": "km"}, "no unit"),
        ({"value": "1e999999999", "from": "m", "to": "km"}, "not a finite number"),
        ({"value": "1e9999", "from": "m", "to": "km"}, "beyond 1e±300"),
        ({"value": "1" * 51, "from": "m", "to": "km"}, "more than 50 digits"),
        ({"value": -300, "from": "°C", "to": "K"}, "-300 °C is below absolute zero"),
        ({"value": "-459.68", "from": "F", "to": "C"}, "below absolute zero"),
        ({"value": 1, "from": "m", "to": "km", "digits": 0}, "whole number from 1 to 50"),
        ({"value": 1, "from": "m", "to": "km", "digits": 1e9}, "whole number from 1 to 50"),
        ({"value": 1, "from": "m"}, "required: --to"),
        ({"val": 1, "from": "m", "to": "km"}, "required: --value"),
        ({"value": 1, "from": "m", "to": "km", "precision": 3}, "--precision=3"),
    ],
)
def test_refuses_in_one_line(
    arguments: dict[str, object], message: str, converter: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    assert converter.main([f"--{key}={value}" for key, value in arguments.items()]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("error: ")
    assert err.count("\n") == 1
    assert message in err


@pytest.mark.parametrize("lang", ["C", "C.UTF-8"])
def test_a_refusal_goes_to_standard_error(lang: str, run_script: RunScript) -> None:
    done = run_script(*SCRIPT, {"value": -300, "from": "°C", "to": "µm"}, lang=lang)
    assert (done.code, done.out) == (2, "")
    assert done.err == "error: cannot convert °C (temperature) to µm (length): they measure different quantities\n"


@pytest.mark.parametrize(
    "table", [None, "quantity,symbol\nlength,m\n", "quantity,symbol,factor,offset,exact_case,any_case\na,b,c,0,,\n"]
)
def test_a_damaged_table_is_no_fault_of_the_request(table: str | None, tmp_path: Path, run_script: RunScript) -> None:
    shutil.copytree(SKILLS / "unit-converter", tmp_path / "unit-converter")
    units = tmp_path / "unit-converter" / "references" / "units.csv"
    if table is None:
        units.unlink()
    else:
        units.write_text(table, encoding="utf-8")
    done = run_script(*SCRIPT, {"value": 1, "from": "m", "to": "km"}, root=tmp_path)
    assert (done.code, done.out) == (1, "")
    assert "units table" in done.err


def test_every_name_leads_to_its_unit_and_only_known_ones_are_ambiguous(
    converter: ModuleType, units: list[Any]
) -> None:
    ambiguous = set()
    for unit in units:
        assert converter.find_unit(units, unit.symbol, "--from") is unit
        for name in unit.exact_case | unit.any_case:
            owners = [other for other in units if name in other.exact_case] or [
                other for other in units if name in other.any_case
            ]
            if len(owners) > 1:
                ambiguous.add(name)
            else:
                assert converter.find_unit(units, name, "--to") is owners[0]
    assert ambiguous == {"ton", "tons", "calorie", "calories"}


def test_a_name_in_another_case_never_means_another_unit(converter: ModuleType, units: list[Any]) -> None:
    by_exact = {name: unit for unit in units for name in unit.exact_case}
    for unit in units:
        for name in unit.any_case:
            for spelled in (name, name.upper(), name.title()):
                other = by_exact.get(converter.spelling(spelled), unit)
                assert other is unit or other.quantity != unit.quantity, f"{spelled} is {other.symbol} or {unit.symbol}"


finite = st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**20), max_value=10**20, places=10)


@given(value=finite, data=st.data())
def test_there_and_back_again_is_exact(
    converter: ModuleType, units: list[Any], value: Decimal, data: st.DataObject
) -> None:
    source = data.draw(st.sampled_from(units))
    target = data.draw(st.sampled_from([unit for unit in units if unit.quantity == source.quantity]))
    difference = data.draw(st.booleans()) or source.quantity == "temperature"
    there = converter.convert(Fraction(value), source, target, difference=difference)
    assert converter.convert(there, target, source, difference=difference) == Fraction(value)


@given(kelvin=st.fractions(min_value=0, max_value=10**6), data=st.data())
def test_temperatures_there_and_back_again(
    converter: ModuleType, units: list[Any], kelvin: Fraction, data: st.DataObject
) -> None:
    scales = [unit for unit in units if unit.quantity == "temperature"]
    source, target = data.draw(st.sampled_from(scales)), data.draw(st.sampled_from(scales))
    value = source.from_base(kelvin)
    there = converter.convert(value, source, target)
    assert target.to_base(there) == kelvin
    assert converter.convert(there, target, source) == value


@given(value=st.fractions(min_value=-(10**25), max_value=10**25), digits=st.integers(1, 50))
def test_a_number_is_rounded_once(converter: ModuleType, value: Fraction, digits: int) -> None:
    shown = Decimal(converter.number(value, digits))
    assert len(shown.normalize().as_tuple().digits) <= digits
    step = Fraction(10) ** (shown.adjusted() - digits + 1)
    assert abs(Fraction(shown) - value) <= step / 2


@settings(max_examples=30)  # each reads the table
@given(value=finite, data=st.data())
def test_the_line_reads_back(converter: ModuleType, units: list[Any], value: Decimal, data: st.DataObject) -> None:
    source = data.draw(st.sampled_from([unit for unit in units if unit.quantity != "temperature"]))
    target = data.draw(st.sampled_from([unit for unit in units if unit.quantity == source.quantity]))
    line = converter.answer([f"--value={value}", f"--from={source.symbol}", f"--to={target.symbol}", "--digits=50"])
    left, right = line.split(" = ")
    assert Decimal(left.split()[0]) == value
    assert right.endswith(f" {target.symbol}")
    back = Fraction(Decimal(right.split()[0])) * target.factor / source.factor
    assert abs(back - Fraction(value)) <= abs(Fraction(value)) / 10**49

"""Convert a value from one unit to another: `convert.py --value=26.2 --from=miles --to=km`.

Prints one line, `26.2 mi = 42.1648 km`. The units stand in `../references/units.csv`, which is read on each run.
Exit codes: 0 converted; 1 the units table is damaged; 2 the request cannot be converted (one line on stderr says why).
"""

from __future__ import annotations

import argparse
import csv
import difflib
import re
import sys
import unicodedata
from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction
from pathlib import Path
from typing import NoReturn

UNITS_TABLE = Path(__file__).resolve().parent.parent / "references" / "units.csv"

DEFAULT_DIGITS = 6
MAX_DIGITS = 50
# Wide enough for every physical quantity, small enough that no number becomes megabytes of digits.
MAX_EXPONENT = 300
# Outside these powers of ten a plain number is harder to read than a scientific one.
PLAIN_EXPONENTS = range(-7, 16)

NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,4})?", re.ASCII)


class BadRequest(Exception):
    """The request cannot be converted; the message tells the caller what to change."""


class BadTable(Exception):
    """The units table is missing or damaged, which no change of the request can mend."""


@dataclass(frozen=True)
class Unit:
    """One row of the table: `(value + offset) * factor` is the value in the base unit of the quantity."""

    quantity: str
    symbol: str
    factor: Fraction
    offset: Fraction
    exact_case: frozenset[str]
    any_case: frozenset[str]

    def to_base(self, value: Fraction) -> Fraction:
        """The value in the base unit of this unit's quantity."""
        return (value + self.offset) * self.factor

    def from_base(self, value: Fraction) -> Fraction:
        """The inverse of `to_base`."""
        return value / self.factor - self.offset


def spelling(text: str) -> str:
    """One spelling for what people write alike: `m²` and `m^2`; `sq. ft.` and `sq ft`; `m / s` and `m per s`."""
    text = re.sub(r"[°^]|\*\*", "", unicodedata.normalize("NFKC", text))
    return re.sub(r"\s*/\s*|\s+per\s+", "/", " ".join(re.sub(r"[._·⋅*-]", " ", text).split()))


def ratio(text: str) -> Fraction:
    """An exact number: `0.3048`, `1e-6` or a quotient of two such, `5/9`."""
    numerator, _, denominator = text.partition("/")
    return Fraction(numerator) / Fraction(denominator or 1)


def load_units(path: Path = UNITS_TABLE) -> list[Unit]:
    """The units of the table, in its order.

    Raises:
        BadTable: It cannot be read or holds no such rows.
    """
    try:
        with path.open(encoding="utf-8", newline="") as file:
            return [
                Unit(
                    quantity=row["quantity"],
                    symbol=row["symbol"],
                    factor=ratio(row["factor"]),
                    offset=ratio(row["offset"]),
                    exact_case=frozenset(map(spelling, [row["symbol"], *filter(None, row["exact_case"].split("|"))])),
                    any_case=frozenset(spelling(name).casefold() for name in row["any_case"].split("|") if name),
                )
                for row in csv.DictReader(file)
            ]
    except (OSError, ValueError, KeyError, ArithmeticError, AttributeError) as error:
        raise BadTable(f"the units table {path} cannot be read: {error!r}") from error


def find_unit(units: list[Unit], text: str, option: str) -> Unit:
    """The unit that `text` names, by exact spelling first, then by names whose case does not matter.

    Case matters for symbols alone, since there it changes the meaning: `Mb` is a megabit, `MB` a megabyte.

    Raises:
        BadRequest: No unit has that name, or several do.
    """
    wanted = spelling(text)
    found = [unit for unit in units if wanted in unit.exact_case]
    found = found or [unit for unit in units if wanted.casefold() in unit.any_case]
    if len(found) == 1:
        return found[0]
    if found:
        raise BadRequest(f"unit {text!r} for {option} is ambiguous: write {choices(found)}")
    near = nearest(units, wanted.casefold())
    hint = f"did you mean {choices(near)}?" if near else "references/units.csv lists the known units"
    raise BadRequest(f"unknown unit {text[:60]!r} for {option}; {hint}")


def nearest(units: list[Unit], wanted: str) -> list[Unit]:
    """Up to three units with a name like the wanted one, nearest first."""
    owners: dict[str, list[Unit]] = {}
    for unit in units:
        for name in {name.casefold() for name in unit.exact_case} | unit.any_case:
            owners.setdefault(name, []).append(unit)
    names = difflib.get_close_matches(wanted[:60], owners, n=6, cutoff=0.7)
    return list(dict.fromkeys(unit for name in names for unit in owners[name]))[:3]


def choices(units: list[Unit]) -> str:
    """The symbols of the units, as a person lists alternatives."""
    *others, last = [f"{unit.symbol!r} ({unit.quantity})" for unit in units]
    return f"{', '.join(others)} or {last}" if others else last


def parse_value(text: str) -> Decimal:
    """The value as typed, to its last digit.

    Raises:
        BadRequest: It is not a finite number in plain or scientific notation, or is beyond all measure.
    """
    shown = repr(text[:60])
    if not NUMBER.fullmatch(text.strip()):
        raise BadRequest(f"--value={shown} is not a finite number such as 1234.5 or -4e-3 (no commas, no unit)")
    value = Decimal(text.strip())
    if len(value.as_tuple().digits) > MAX_DIGITS:
        raise BadRequest(f"--value={shown} has more than {MAX_DIGITS} digits")
    if value and abs(value.adjusted()) > MAX_EXPONENT:
        raise BadRequest(f"--value={shown} is beyond 1e±{MAX_EXPONENT}")
    return value


def convert(value: Fraction, source: Unit, target: Unit, *, difference: bool = False) -> Fraction:
    """The exact value in the target unit.

    Args:
        value: The value in the source unit.
        source: The unit it is in.
        target: The unit it shall be in.
        difference: The value is a difference (a rise of 10 °C), so that the zero points do not matter.

    Raises:
        BadRequest: The units measure different quantities, or the temperature is below absolute zero.
    """
    if source.quantity != target.quantity:
        raise BadRequest(
            f"cannot convert {source.symbol} ({source.quantity}) to {target.symbol} ({target.quantity}): "
            "they measure different quantities"
        )
    if difference:
        return value * source.factor / target.factor
    base = source.to_base(value)
    if source.quantity == "temperature" and base < 0:
        raise BadRequest(f"{number(value, MAX_DIGITS)} {source.symbol} is below absolute zero")
    return target.from_base(base)


def number(value: Fraction, digits: int) -> str:
    """The value rounded once, half to even, to significant digits, without idle zeros."""
    context = Context(prec=digits, rounding=ROUND_HALF_EVEN)
    rounded = context.divide(Decimal(value.numerator), Decimal(value.denominator)).normalize(context)
    if rounded.is_zero():
        return "0"
    return f"{rounded:f}" if rounded.adjusted() in PLAIN_EXPONENTS else f"{rounded:e}"


def sensible_digits(value: Decimal, result: Fraction) -> int:
    """How many significant digits to show: six, or as many as were given, and never a rounded whole number."""
    whole = len(str(abs(int(result))))
    return max(DEFAULT_DIGITS, len(value.as_tuple().digits), whole if whole - 1 in PLAIN_EXPONENTS else 0)


def as_typed(value: Decimal) -> str:
    """The value with the digits it came with: `26.20` stays so."""
    if value.is_zero():
        value = abs(value)
    return f"{value:f}" if value.adjusted() in PLAIN_EXPONENTS else f"{value:e}"


def digits_option(text: str) -> int:
    """The type of `--digits`."""
    if re.fullmatch(r"\d{1,3}", text, re.ASCII) and 1 <= int(text) <= MAX_DIGITS:
        return int(text)
    raise argparse.ArgumentTypeError(f"{text[:20]!r} is not a whole number from 1 to {MAX_DIGITS}")


class Parser(argparse.ArgumentParser):
    """Says what is wrong in one line, with no usage before it."""

    def error(self, message: str) -> NoReturn:
        """Ends the program as every other bad request does."""
        raise BadRequest(" ".join(message.split()))


def parser() -> Parser:
    """The command line."""
    result = Parser(
        prog="convert.py",
        description="Convert a value from one unit to another. Prints one line: 26.2 mi = 42.1648 km",
        epilog="Units and their other names: references/units.csv of this skill. Negative values: --value=-40.",
        allow_abbrev=False,
    )
    result.add_argument("--value", required=True, metavar="NUMBER", help="such as 26.2 or 1.5e-3")
    result.add_argument("--from", required=True, dest="source", metavar="UNIT", help="such as mi, miles, °C, MiB")
    result.add_argument("--to", required=True, dest="target", metavar="UNIT", help="a unit of the same quantity")
    result.add_argument(
        "--digits",
        type=digits_option,
        metavar="N",
        help=f"significant digits, 1 to {MAX_DIGITS} (default: {DEFAULT_DIGITS}, or as many as the value has)",
    )
    result.add_argument(
        "--difference",
        action="store_true",
        help="the value is a difference: a rise of 10 °C is one of 18 °F, while 10 °C are 50 °F",
    )
    return result


def answer(arguments: list[str]) -> str:
    """The line that answers the request.

    Raises:
        BadRequest: What was asked for makes no sense.
        BadTable: The units cannot be read.
    """
    options = parser().parse_args(arguments)
    value = parse_value(options.value)
    units = load_units()
    source = find_unit(units, options.source, "--from")
    target = find_unit(units, options.target, "--to")
    result = convert(Fraction(value), source, target, difference=options.difference)
    shown = number(result, options.digits or sensible_digits(value, result))
    line = f"{as_typed(value)} {source.symbol} = {shown} {target.symbol}"
    return f"{line} (difference)" if options.difference else line


def main(arguments: list[str]) -> int:
    """Prints the answer; returns the exit code."""
    # Isolated interpreters ignore PYTHONUTF8, and the symbols are not ASCII.
    sys.stdout.reconfigure(encoding="utf-8")
    sys.stderr.reconfigure(encoding="utf-8", errors="backslashreplace")
    try:
        line = answer(arguments)
    except (BadRequest, BadTable) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2 if isinstance(error, BadRequest) else 1
    print(line)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Measures and constraints as people type them, read by a small grammar. Nothing is ever evaluated as Python.

    constraints := constraint ("," constraint)*            constraint := sum ("<=" | ">=") sum
    sum   := term (("+" | "-") term)*                      term  := sign (("*" | "/") sign)*
    sign  := "-" sign | power                              power := atom ["**" sign]
    atom  := number | word | name | name "(" [argument ("," argument)*] ")" | "(" sum ")"
    argument := [name "="] sum

A name is a rate (`tpr`, `fnr`, ...), a named measure or a function of `steelyard.measures`, or one of `known_names`
("precision", "f1"), and nothing else; a word is in quotes, as the label in ``of("spam", FBeta(1))``. What a measure
prints is read back as the same measure. Text that is longer or deeper than people write is refused, so that no text can
take long.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from . import functions, groups, lifted
from .arithmetic import fnr, fpr, prevalence, smoothing, tnr, tpr
from .constraints import Constraint
from .expression import Measure
from .known_names import BY_NAME, did_you_mean
from .operators import as_measure

LONGEST, DEEPEST = 2_000, 40  # characters and brackets: an expression that people write has some hundred and five
MOST_NODES = 200  # that are analysed later, some in milliseconds each

RATES: dict[str, Measure] = {
    "tpr": tpr, "tnr": tnr, "fpr": fpr, "fnr": fnr, "prevalence": prevalence, "smoothing": smoothing,
}  # fmt: skip
FUNCTIONS: dict[str, Any] = {
    function.__name__: function
    for function in (
        functions.absolute, functions.geometric_mean, functions.harmonic_mean, functions.log, functions.maximum,
        functions.minimum, functions.power, functions.quadratic_mean, functions.sqrt, functions.square,
        lifted.geometric, lifted.macro, lifted.micro, lifted.of, lifted.total, lifted.worst, groups.gap, groups.within,
    )
} | {"min": functions.minimum, "max": functions.maximum, "abs": functions.absolute}  # fmt: skip
FLAGS = {"True": True, "False": False}  # the only other words of Python
TOKEN = re.compile(  # a number, a name, a word in quotes, or one of the signs
    r"\s*(?:(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)|(?P<name>[A-Za-z_]\w*)"
    r"|(?P<word>'[^'\\]*'|\"[^\"\\]*\")|(?P<sign>\*\*|<=|>=|==|[-+*/(),=<>]))",
    re.ASCII,
)


class MeasureSyntaxError(ValueError):
    """Text that is no measure or constraint; the message shows where."""


class Token(NamedTuple):
    kind: str
    text: str
    at: int


def parse_measure(text: str) -> Measure:
    """The measure that a text spells.

    >>> parse_measure("0.5*BalancedAccuracy() + 0.5*NegKLD()")
    0.5 * BalancedAccuracy() + 0.5 * NegKLD()
    >>> parse_measure("min(tpr, tnr)").curvature
    'concave'
    """
    parser = _Parser(text)
    found = parser.whole(parser.sum)
    if isinstance(found, Constraint) or not isinstance(found, Measure):
        raise MeasureSyntaxError(f"{text!r} is no measure: a measure varies with tpr and tnr, as FBeta(1) does")
    return found


def parse_constraints(text: str) -> tuple[Constraint, ...]:
    """Constraints with commas between them.

    >>> parse_constraints("fpr <= 0.01, Precision() >= 0.9")
    (fpr <= 0.01, Precision() >= 0.9)
    >>> parse_constraints("precision >= 0.8, recall >= 0.5")
    (Precision() >= 0.8, Recall() >= 0.5)
    """
    parser = _Parser(text)
    found: tuple[Constraint, ...] = parser.whole(parser.constraints)
    return found


def named_measures() -> dict[str, type[Measure]]:
    """All named measures by their name."""
    from . import NAMED, SEVERAL

    return {kind.__name__: kind for kind in (*NAMED, *SEVERAL)}


class _Parser:
    """Recursive descent over the tokens, with a budget of nodes and of depth."""

    def __init__(self, text: str) -> None:
        if len(text) > LONGEST:
            raise MeasureSyntaxError(f"an expression has at most {LONGEST} characters; this one has {len(text)}")
        self.text, self.next, self.depth, self.nodes = text, 0, 0, 0
        self.tokens: list[Token] = list(self._tokens())
        self.named = named_measures()

    def _tokens(self) -> Iterator[Token]:
        at, end = 0, len(self.text.rstrip())
        while at < end:
            found = TOKEN.match(self.text, at)
            if found is None:
                at += len(self.text[at:]) - len(self.text[at:].lstrip())
                share = "; a share is a number up to 1: 5 % is 0.05" if self.text[at] == "%" else ""
                raise self._error(f"cannot read this{share}", at)
            yield Token(str(found.lastgroup), found.group(str(found.lastgroup)), found.start(str(found.lastgroup)))
            at = found.end()
        yield Token("end", "", end)

    def whole(self, rule: Any) -> Any:
        """All of the text by one rule; whatever a constructor refuses is a mistake of the text."""
        try:
            found = rule()
        except MeasureSyntaxError:
            raise
        except (TypeError, ValueError, ArithmeticError) as error:
            raise MeasureSyntaxError(f"{self.text!r}: {error}") from None
        if self._peek().kind != "end":
            raise self._error("did not expect this", self._peek().at)
        return found

    # -- the grammar --------------------------------------------------------------------------------------------
    def constraints(self) -> tuple[Constraint, ...]:
        found = [self.constraint()]
        while self._take(","):
            found.append(self.constraint())
        return tuple(found)

    def constraint(self) -> Constraint:
        left = self.sum()
        sign = self._peek()
        if sign.text not in ("<=", ">="):
            raise self._error("a constraint has <= or >= here, as in fpr <= 0.01", sign.at)
        self.next += 1
        right = self.sum()
        if isinstance(left, (int, float)):
            left, right, sense = right, left, ">=" if sign.text == "<=" else "<="
        else:
            sense = sign.text
        found = left <= right if sense == "<=" else left >= right
        if not isinstance(found, Constraint):
            raise self._error("a constraint bounds a rate or a measure", sign.at)
        return found

    def sum(self) -> Any:
        return self._chain(self.term, ("+", "-"))

    def term(self) -> Any:
        return self._chain(self.sign, ("*", "/"))

    def sign(self) -> Any:
        with self:
            if self._take("-"):
                return self._combined("-", 0, self.sign())
            base = self.atom()
            return self._combined("**", base, self.sign()) if self._take("**") else base

    def atom(self) -> Any:
        token = self._peek()
        self.next += 1
        if token.kind == "number":
            return self._number(token)
        if token.kind == "word":
            return token.text[1:-1]
        if token.text == "(":
            with self:
                inner = self.sum()
            self._expect(")")
            return inner
        if token.kind == "name":
            return self._name(token)
        raise self._error(
            "expected a measure, a rate or a number" if token.text else "the text ends too early", token.at
        )

    def _chain(self, part: Any, signs: tuple[str, ...]) -> Any:
        found = part()
        while self._peek().text in signs and self._peek().kind == "sign":
            sign = self._peek().text
            self.next += 1
            found = self._combined(sign, found, part())
        return found

    def _name(self, token: Token) -> Any:
        name = token.text
        if name in RATES:
            return RATES[name]
        if name in FLAGS:
            return FLAGS[name]
        make = self.named.get(name) or FUNCTIONS.get(name) or BY_NAME.get(name.removesuffix("_score"))
        if make is None:
            meant = did_you_mean(name, (*RATES, *self.named, *FUNCTIONS, *BY_NAME))
            raise self._error(f"there is no measure {name!r}{meant}; `steelyard measures` lists them", token.at)
        if not self._take("("):
            if name in FUNCTIONS:
                raise self._error(f"{name} is a function: write {name}(...)", token.at)
            return make()
        positional, by_name = self._arguments()
        return make(*positional, **by_name)

    def _arguments(self) -> tuple[list[Any], dict[str, Any]]:
        positional: list[Any] = []
        by_name: dict[str, Any] = {}
        with self:
            while not self._take(")"):
                if (positional or by_name) and not self._take(","):
                    raise self._error("expected , or )", self._peek().at)
                token, after = self._peek(), self.tokens[min(self.next + 1, len(self.tokens) - 1)]
                if token.kind == "name" and after.text == "=":
                    self.next += 2
                    by_name[token.text] = self.sum()
                else:
                    positional.append(self.sum())
        return positional, by_name

    # -- parts --------------------------------------------------------------------------------------------------
    def _number(self, token: Token) -> float:
        value = float(token.text)
        if not math.isfinite(value):
            raise self._error("this number is too large", token.at)
        return int(token.text) if token.text.isdigit() and value < 2**53 else value  # whole ones stay exact

    def _combined(self, sign: str, left: Any, right: Any) -> Any:
        """Two parts by a sign; numbers alone in floating point, where nothing can grow."""
        self._count()
        if any(isinstance(part, (str, bool, Constraint)) for part in (left, right)):
            raise self._error("only measures and numbers can be computed with", self._peek().at)
        if not isinstance(left, Measure) and not isinstance(right, Measure):
            value = _computed(sign, float(left), float(right))
            if isinstance(value, complex) or not math.isfinite(value):
                raise self._error("this is no finite number", self._peek().at)
            return value
        if sign == "-" and left == 0 and not isinstance(left, Measure):
            return -right
        return _computed(sign, left, right if sign == "**" else as_measure(right))

    def _count(self) -> None:
        self.nodes += 1
        if self.nodes > MOST_NODES:
            raise MeasureSyntaxError(f"an expression has at most {MOST_NODES} parts")

    def __enter__(self) -> None:
        self.depth += 1
        self._count()
        if self.depth > DEEPEST:
            raise MeasureSyntaxError(f"an expression is at most {DEEPEST} brackets deep")

    def __exit__(self, *_: object) -> None:
        self.depth -= 1

    def _peek(self) -> Token:
        return self.tokens[min(self.next, len(self.tokens) - 1)]

    def _take(self, sign: str) -> bool:
        found = self._peek().kind == "sign" and self._peek().text == sign
        self.next += found
        return found

    def _expect(self, sign: str) -> None:
        if not self._take(sign):
            raise self._error(f"expected {sign}", self._peek().at)

    def _error(self, message: str, at: int) -> MeasureSyntaxError:
        return MeasureSyntaxError(f"{message}:\n  {self.text}\n  {' ' * at}^")


def _computed(sign: str, left: Any, right: Any) -> Any:
    if sign == "+":
        return left + right
    if sign == "-":
        return left - right
    if sign == "*":
        return left * right
    return left / right if sign == "/" else left**right

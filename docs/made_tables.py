"""How a table of the docs is written, once."""

import re

# Where a line may not end: before the unit of a number, beside a ±, within 1e-08.
TOGETHER = re.compile(r"(?<=\d) (?=(?:s|ms|µs|kB|MB|GB|%)(?![\w]))|(?<=\d) (?=± )|(?<=±) ")
EXPONENT = re.compile(r"(?<=\de)-(?=\d)")
POWER = re.compile(r"(?<![\w^`$])(LR-ML|10|2|n)\^(\w+)")


def cell(text):
    """With spaces and hyphens that do not break where a number would be torn apart, and powers as such."""
    return POWER.sub(r"\1$^{\2}$", EXPONENT.sub("\u2011", TOGETHER.sub("\u00a0", str(text))))


def markdown(header, rows):
    lines = ["| " + " | ".join(map(cell, header)) + " |", "| " + " | ".join("---" for _ in header) + " |"]
    return "\n".join(lines + ["| " + " | ".join(map(cell, row)) + " |" for row in rows])

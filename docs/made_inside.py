"""The page "how it works inside": a map of the packages, made of what the files say of themselves.

One line for each module is the first sentence of its docstring, one for each header of the core the first sentence of
its first comment; the layers are those that `lint-imports` checks (pyproject.toml), and what a module uses is read
from its imports. So the map cannot be out of date. A folder opens when it is clicked: all of them are several hundred
lines. Tables of memory and interrupts come from their benchmarks.
"""

import ast
import re
import tomllib
from pathlib import Path

from made_tables import markdown

ROOT = Path(__file__).parent.parent
SRC = ROOT / "src" / "steelyard"
CORE = ROOT / "src" / "core"
ORDER = ("base", "measure", "stream", "linear", "structural", "path", "kernel", "bind")  # of the core's rooms


def everything(folder):
    (folder / "inside_packages.md").write_text(packages() + "\n")
    (folder / "inside_core.md").write_text(core() + "\n")


# -- Python -------------------------------------------------------------------------------------------------------


def packages():
    """The layers from the top to the measures: each folder with its modules, and those that stand alone."""
    parts = []
    for layer in layers():
        for name in layer:
            home = SRC / name
            if not home.is_dir():
                parts.append(item(name, home.with_suffix(".py")))
                continue
            for room in [home, *sorted(path.parent for path in home.glob("*/__init__.py"))]:
                lines = [item(path.stem, path) for path in sorted(room.glob("*.py")) if path.name != "__init__.py"]
                parts.append(folded(label(room), first_sentence(docstring(room / "__init__.py")), lines))
    return "\n\n".join(parts)


def item(name, path):
    return line(name, first_sentence(docstring(path)), uses(path))


def line(name, said, used):
    end = "" if said.endswith(("?", "!")) else "."
    return f"- `{name}`: {said}{end}" + (f" *Uses {used}.*" if used else "")


def folded(name, said, lines):
    """A folder that opens; where it says nothing of itself its title is its name."""
    return "\n".join([f":::{{dropdown}} `{name}`" + (f": {said}" if said else ""), *lines, ":::"])


def layers():
    """The packages of each layer, from pyproject's first contract."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    return [[name for name in re.findall(r"\w+", layer) if name != "_core"] for layer in contracts[0]["layers"]]


def label(path):
    return path.relative_to(SRC).with_suffix("").as_posix()


def docstring(path):
    return ast.get_docstring(ast.parse(path.read_text())) or ""


def uses(path):
    """The modules of the library that a module imports, by package; `core` is the compiled one."""
    own = path.relative_to(SRC).parent.parts
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.level:
            base = own[: len(own) - node.level + 1]
            target = (*base, *(node.module or "").split(".")) if node.module else base
            found |= {room(target if node.module else (*target, name.name), own) for name in node.names}
    return ", ".join(sorted(found - {""}))


def room(target, own):
    """The package of an import, its room where packages have some; "" within one's own."""
    if target[0] == "_core":
        return "core"
    if target[0].startswith("_"):
        return ""
    depth = 2 if target[0] == "solvers" and len(target) > 1 else 1
    return "" if target[:depth] == own[:depth] else ".".join(target[:depth])


# -- the core -----------------------------------------------------------------------------------------------------


def core():
    parts = []
    for name in [*ORDER, *sorted(path.name for path in CORE.iterdir() if path.is_dir() and path.name not in ORDER)]:
        files = sorted(
            path
            for path in (CORE / name).glob("*.*pp")
            if not path.with_suffix(".cpp").exists() or path.suffix == ".cpp"
        )
        lines = [line(path.name, first_sentence(first_comment(path)), core_uses(path)) for path in files]
        parts.append(folded(f"core/{name}", "", lines))
    return "\n\n".join(parts)


def first_comment(path):
    lines = []
    for line in path.read_text().split("\n"):
        if not line.startswith("//") or line.strip() == "//":
            break
        lines.append(line[2:].strip())
    return " ".join(lines)


def core_uses(path):
    rooms = set(re.findall(r'#include "(\w+)/', path.read_text()))
    return ", ".join(sorted(rooms - {path.parent.name}))


def first_sentence(text):
    paragraph = " ".join(text.split("\n\n")[0].split())
    found = re.match(r"(.*?[.:!?])(?:\s+[A-Z(`]|$)", paragraph)
    said = found.group(1) if found else paragraph
    return said.rstrip(":.").replace("|", "\\|").replace("``", "`")


# -- measured -----------------------------------------------------------------------------------------------------


def memory_table(found):
    rows = []
    for name, by_kind in found["fits"].items():
        cells = []
        for fit in by_kind.values():
            cells += (
                ["", fit["trouble"]]
                if "trouble" in fit
                else [f"{fit['beyond_mb']:.0f} MB", f"{fit['bound_mb']:.0f} MB"]
            )
        rows.append((name, *cells))
    size = f"{found['rows']:,} x {found['columns']}"
    header = ("fit", "float32: beyond X", "bound", "float64: beyond X", "bound")
    return markdown(header, rows) + f"\n\nPeak memory of `fit` beyond X itself, {size}."


def interrupts_table(found):
    rows, beside = [], []
    for name, call in found["calls"].items():
        worst = "" if call["worst_s"] is None else f"{call['worst_s']:.2f} s"
        rows.append((name, worst, "yes" if call["unchanged"] else "no"))
        trouble = "; ".join(said.split(": {")[0] for said in call["trouble"])  # without what a call that was over said
        beside += [f"{name}: {trouble}."] if trouble else []
    said = "From the signal to the exception, the longest of several moments of each call."
    return markdown(("call", "longest", "as it was before"), rows) + "\n\n" + " ".join([said, *beside])


TABLES = {"memory": memory_table, "interrupts": interrupts_table}

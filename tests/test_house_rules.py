"""What keeps the house in order: short functions, short files, and constants that say where they come from.

The rules are about src/: Python is read by `ast`; the core, formatted by clang-format, by a scanner that knows comments,
strings and braces.
"""

import ast
import io
import re
import tokenize
from pathlib import Path

SRC = Path(__file__).parent.parent / "src"
FUNCTION_LINES = 60
FILE_LINES = 400
PYTHON = sorted((SRC / "steelyard").rglob("*.py"))
CORE = sorted(path for path in (SRC / "core").rglob("*") if path.suffix in (".hpp", ".cpp"))
FILES = PYTHON + CORE

# Before the brace of a body: what makes it no function (a type, a namespace, a list of values) ...
NO_BODY = re.compile(r"^(?:template\s*<.*>\s*)?(?:struct|class|enum|union|namespace|extern)\b|=\s*$|\breturn\s*$|^$")
# ... what makes it one ...
BODY = re.compile(r"(?:\)|\bconst|\boverride|\bnoexcept)$|\)\s*(?:->\s*[\w:<>&* ]+|:\s*\w+[({].*)$")
# ... and what is inside one already.
CONTROL = re.compile(r"^(?:\}?\s*else\b|if\b|for\b|while\b|do\b|switch\b|try\b|\}?\s*catch\b)")


def name_of(path):
    return str(path.relative_to(SRC))


def test_files_can_be_read_at_a_sitting():
    lines = {name_of(path): len(path.read_text().splitlines()) for path in FILES}
    assert not {name: count for name, count in lines.items() if count > FILE_LINES}


def test_functions_fit_on_a_screen():
    long = [f"{name_of(path)}: {name}, {n}" for path in FILES for name, n in functions(path) if n > FUNCTION_LINES]
    assert not long, "\n".join(long)


def test_constants_say_where_they_come_from():
    bare = [f"{name_of(path)}:{n} {name}" for path in FILES for n, name in constants_without_a_reason(path)]
    assert not bare, "\n".join(bare)


# -- how long functions are ---------------------------------------------------------------------------------------


def functions(path):
    """(name, lines) of every function."""
    return python_functions(path) if path.suffix == ".py" else core_functions(path)


def python_functions(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name, node.end_lineno - node.lineno + 1


def core_functions(path):
    text = without_comments(path.read_text())
    opened, head = [], 0
    for at, character in enumerate(text):
        if character == "{":
            before = " ".join(line for line in text[head:at].split("\n") if not line.lstrip().startswith("#")).strip()
            inside = any(is_function for is_function, _, _ in opened)
            is_function = not inside and bool(BODY.search(before))
            if NO_BODY.search(before) or CONTROL.search(before):
                is_function = False
            opened.append((is_function, before, text.count("\n", 0, _first(text, head, at))))
            head = at + 1
        elif character == "}":
            if opened:
                is_function, before, began = opened.pop()
                if is_function:
                    yield _called(before), text.count("\n", 0, at) - began + 1
            head = at + 1
        elif character == ";":
            head = at + 1


def _first(text, head, at):
    """Where the words before a brace begin."""
    while head < at and text[head].isspace():
        head += 1
    return head


def _called(before):
    found = re.search(r"([\w~]+|operator\W+)\s*\(", re.sub(r"\b(?:STEELYARD_\w+|template\s*<[^>]*>)", "", before))
    return found.group(1) if found else before[:40]


def without_comments(text):
    """The same lines, with comments and what is inside strings left out."""
    pattern = r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])'"
    return re.sub(pattern, lambda found: "\n" * found.group().count("\n"), text, flags=re.S)


# -- constants ----------------------------------------------------------------------------------------------------


def constants_without_a_reason(path):
    """(line, name) of what is set once and steers behaviour, without a word on its line or above."""
    return python_constants(path) if path.suffix == ".py" else core_constants(path)


def python_constants(path):
    text = path.read_text()
    comments = {
        token.start[0]
        for token in tokenize.generate_tokens(io.StringIO(text).readline)
        if token.type == tokenize.COMMENT and not re.match(r"#\s*(?:noqa|type:|fmt:)", token.string)
    }
    tree = ast.parse(text)
    assigned = {line for node in tree.body if _assigned(node) for line in range(node.lineno, node.end_lineno + 1)}
    for node, after in zip(tree.body, [*tree.body[1:], None], strict=True):
        names = [name for name in _assigned(node) if name.isupper() and not name.startswith("__")]
        above = node.lineno - 1  # one comment may stand above several in a row
        while above in assigned:
            above -= 1
        said = {above, *range(node.lineno, node.end_lineno + 1)} & comments or _is_text(after)
        if names and _steers(node) and not said:
            yield from ((node.lineno, name) for name in names)


def _is_text(node):
    """A string of its own: below a constant it is its description."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def _assigned(node):
    if isinstance(node, ast.Assign):
        return [target.id for target in node.targets if isinstance(target, ast.Name)] + [
            part.id for target in node.targets if isinstance(target, ast.Tuple) for part in target.elts
        ]
    if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
        return [node.target.id]
    return []


def _steers(node):
    """Whether there is a number in it: names of kinds and words for messages steer nothing."""
    return any(
        isinstance(part, ast.Constant) and isinstance(part.value, int | float) and not isinstance(part.value, bool)
        for part in ast.walk(node.value)
    )


def core_constants(path):
    lines = path.read_text().split("\n")
    found = re.compile(r"^\s*(?:static\s+|inline\s+)*constexpr\s+(?!bool\b)[\w:<>]+\s+(\w+)\s*(?:\[\w*\])?\s*[={]")
    for number, line in enumerate(lines, 1):
        match = found.match(line)
        if not match or not re.search(r"\d", line.split(match.group(1), 1)[1]):
            continue
        end = number
        while ";" not in lines[end - 1]:
            end += 1
        above = number - 2  # one comment may stand above several in a row
        while above >= 0 and found.match(lines[above]):
            above -= 1
        if not any("//" in lines[k] for k in range(number - 1, end)) and not lines[max(above, 0)].lstrip().startswith(
            "//"
        ):
            yield number, match.group(1)

"""Formulas as MathML, which browsers draw themselves: the pages need no network for them.

The converter prints what it does not know as it stands. `KNOWN` says in other words what our pages need, and a
backslash that is left is a warning, so that no page shows one.
"""

import re

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.util import logging

KNOWN = {r"\arg": r"\mathrm{arg}\,", r"\dots": r"\ldots", r"\Bigl": r"\Big", r"\Bigr": r"\Big"}
log = logging.getLogger(__name__)


def written(latex):
    """What the converter knows, for what is written."""
    return re.sub(r"\\[A-Za-z]+", lambda word: KNOWN.get(word[0], word[0]), latex)


def _draw(display):
    def visit(translator, node):
        drawn = convert(written(node.astext()), display=display)
        if "\\" in re.sub(r"<[^>]*>", "", drawn):
            log.warning("the formula %r has a command that is not drawn", node.astext(), location=node)
        translator.body.append(f'<div class="formula">{drawn}</div>' if display == "block" else drawn)
        raise nodes.SkipNode

    return visit, None


def setup(app):
    app.add_html_math_renderer("mathml", inline_renderers=_draw("inline"), block_renderers=_draw("block"))
    return {"parallel_read_safe": True, "parallel_write_safe": True}

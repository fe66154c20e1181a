"""Equations as MathML, made when the documents are built: no script, no font and no network to read them."""

from __future__ import annotations

import re

from docutils import nodes
from math_core import LatexToMathML
from sphinx.application import Sphinx
from sphinx.util.math import get_node_equation_number
from sphinx.writers.html5 import HTML5Translator

_CONVERTER = LatexToMathML()
#: Text in an equation, and equations in that.
TEXT, INSIDE = re.compile(r"\\text\{([^{}]*)\}"), re.compile(r"\$([^$]*)\$")


def _outside(text: re.Match[str]) -> str:
    """The same with its equations beside the text, where the converter takes them."""
    return r"\text{" + INSIDE.sub(r"}\1\\text{", text[1]) + "}"


def _mathml(node: nodes.Element, *, display: bool) -> str:
    latex = TEXT.sub(_outside, node.astext())
    aligned = "\\\\" in latex and "\\begin" not in latex
    if aligned:  # as Sphinx has it: several lines, columns at &
        latex = f"\\begin{{aligned}}{latex}\\end{{aligned}}"
    return _CONVERTER.convert_with_local_state(latex, displaystyle=display)


def inline(self: HTML5Translator, node: nodes.math) -> None:
    """Write an equation within a line."""
    self.body.append(f'<span class="math">{_mathml(node, display=False)}</span>')
    raise nodes.SkipNode


def display(self: HTML5Translator, node: nodes.math_block) -> None:
    """Write an equation of its own."""
    number = ""
    if node["number"]:
        number = f'<span class="eqno">({get_node_equation_number(self, node)})</span>'
    anchor = f' id="{node["ids"][0]}"' if node.get("ids") else ""
    self.body.append(f'<div class="math"{anchor}>{_mathml(node, display=True)}{number}</div>')
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, bool]:
    """Be what `html_math_renderer = "mathml"` means."""
    app.add_html_math_renderer("mathml", (inline, None), (display, None))
    return {"parallel_read_safe": True}

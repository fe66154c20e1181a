"""Sphinx settings."""

import re
import sys
from dataclasses import is_dataclass
from importlib import import_module
from pathlib import Path

from docutils import nodes
from docutils.statemachine import StringList
from numpy.typing import ArrayLike
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective
from sphinx.util.typing import stringify_annotation

from hardscape.version import __version__

sys.path.insert(0, str(Path(__file__).parent))

project = "hardscape"
author = "The hardscape authors"
copyright = "2026, The hardscape authors"
release = version = __version__

extensions = ["myst_parser", "numpydoc", "sphinx.ext.autodoc", "equations", "notebooks", "pictures"]
exclude_patterns = ["_build"]
html_math_renderer = "mathml"
html_static_path = ["style"]
html_css_files = ["hardscape.css"]
html_theme = "furo"
html_title = f"hardscape {release}"

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3

# In docstrings `x` is a name of the code, resolvable or not.
default_role = "code"
numpydoc_show_class_members = False
autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 80

# The documents build without a network, so names of other projects are not looked up.
#: The type of "**run", which says less than its name does.
UNPACKED = re.compile(r": ~?(typing\.)?Unpack\[[~\w.]+\]")

#: What numpy says of anything that an array can be made of.
ANY_ARRAY = stringify_annotation(ArrayLike, "smart")

nitpick_ignore_regex = [
    (
        r"py:.*",
        r"(os|numpy|np|collections|concurrent|pathlib|fractions|types|typing|cupy|dimod)\..*",
    ),
    (r"py:class", r"NDArray|ArrayLike"),
    # Variables of types, and what only the engine's own signatures name.
    (r"py:class", r"hardscape\..*\.(_Problem|Answer|ChainSlab|Together|Block|Lanes|R|Recorded|T)"),
]


def readable(
    app: object, what: str, name: str, obj: object, options: object, *signature: str | None
) -> tuple[str | None, ...]:
    """Signatures for reading: none of a dataclass, which repeats its attributes less legibly.

    What every function takes besides its own arguments is told once, where `RunArguments` is.
    """
    if what == "class" and is_dataclass(obj):
        return "", None
    arguments, returned = (
        UNPACKED.sub("", part or "").replace(ANY_ARRAY, "ArrayLike") or None for part in signature
    )
    return arguments, returned


class FormatTable(SphinxDirective):
    """The table of a family's formats, in the words of their modules."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        lines = ["| format | names | content |", "| --- | --- | --- |"]
        for name, module in import_module(self.arguments[0]).FORMATS.items():
            suffixes = " ".join(
                f"`{suffix}`" for suffix in module.SUFFIXES + getattr(module, "READS", ())
            )
            lines.append(f"| `{name}` | {suffixes} | {module.DESCRIPTION} |")
        table = nodes.container()
        self.state.nested_parse(StringList(lines, source=self.arguments[0]), 0, table)
        return [table]


def setup(app: Sphinx) -> None:
    app.add_directive("formats", FormatTable)
    app.connect("autodoc-process-signature", readable)

"""The table of methods: a row for each way of summing in one arithmetic."""

from __future__ import annotations

from hardscape.permanents.methods.exact.exact import IntegerGlynn
from hardscape.permanents.methods.extended.extended import Extended
from hardscape.permanents.methods.frontier.frontier import Frontier, FrontierExactly
from hardscape.permanents.methods.glynn.glynn import Glynn
from hardscape.permanents.methods.method import Method
from hardscape.permanents.methods.rank.rank import Rank, RankExactly
from hardscape.permanents.methods.repeated.repeated import Repeats, RepeatsExactly
from hardscape.permanents.methods.sparse.sparse import Sparse
from hardscape.permanents.methods.subset.subset import IntegerSubsets, Rectangles, Subsets

#: `hardscape.permanents.program.ways_of` asks them in the order of the least that they may take.
METHODS: tuple[Method, ...] = (
    IntegerSubsets(),
    Rectangles(),
    Glynn(),
    Extended(),
    IntegerGlynn(),
    Subsets(),
    Repeats(),
    RepeatsExactly(),
    Rank(),
    RankExactly(),
    Frontier(),
    FrontierExactly(),
    Sparse(),
)
#: What people ask for.
NAMES: tuple[str, ...] = ("auto", *dict.fromkeys(row.name for row in METHODS))

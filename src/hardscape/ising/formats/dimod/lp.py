"""Quadratic programs in the LP format, as far as they are QUBOs; reading needs dimod."""

from __future__ import annotations

from hardscape.errors import InputError, needed
from hardscape.files import Source
from hardscape.ising.model import Ising
from hardscape.ising.quadratic import quadratic_terms

NAME = "lp"
SUFFIXES = ()
READS = (".lp",)
DESCRIPTION = "an LP file of binary variables without constraints (needs dimod)"
MEMORY = 25


def read(source: Source) -> Ising:
    """Read the objective, minus it where the program is to be maximised; names are the labels."""
    dimod = needed("dimod", "dimod", "dimod", "an LP file")
    if b"\0" in source.data:  # at which dimod's reader would stay for ever
        raise source.error(None, "is no text: it holds a byte 0")
    try:
        labels, terms = quadratic_terms(dimod.lp.loads(source.data.decode()))
    except InputError as error:
        raise source.error(None, str(error)) from None
    except (ValueError, RuntimeError, KeyError, IndexError) as error:
        raise source.error(None, f"is no LP file that dimod reads: {error}") from None
    if not labels:  # as dimod reads what is none
        raise source.error(None, "has no variables")
    return Ising.from_exact(terms, labels)

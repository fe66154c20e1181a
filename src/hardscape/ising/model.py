"""The Ising model: fields, couplings and offset, held as exact dyadic rationals."""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Iterable, Mapping
from fractions import Fraction
from math import prod
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hardscape.arrays import as_spins, is_array, is_sparse
from hardscape.errors import InputError, needed
from hardscape.formats import Formats
from hardscape.ising.exact import ExactTerms, coefficients
from hardscape.ising.intake import (
    Convention,
    checked_entries,
    collected,
    mapping_terms,
    matrix_entries,
    side_of,
    sign_of,
    spin_names,
)
from hardscape.ising.quadratic import bqm_terms, graph_terms, is_quadratic, quadratic_terms

#: Known by name: the formats stand on this module.
_FORMATS: Formats[Ising] = Formats("hardscape.ising.formats")


class Ising:
    r"""An Ising model :math:`E(s) = \sum_{i<j} J_{ij} s_i s_j + \sum_i h_i s_i + c`, s = -1 or +1.

    The coefficients are kept as exact multiples of one power of two, so that sums of repeated
    entries, conversions from QUBO and all energies are free of rounding, integers beyond 2**53 are held to
    their last digit; `h`, `J` and `offset` are their float64 values. A model is immutable and hashable.

    Parameters
    ----------
    h : array-like, shape (N,)
        Fields.
    J : array-like or sparse matrix of shape (N, N), or mapping ``{(i, j): value}``
        Couplings with an empty diagonal; :math:`J_{ij}` and :math:`J_{ji}` are summed.
    offset : float
        The constant :math:`c`.
    labels : iterable, optional
        Names of the spins, by default 0 to N-1.
    convention : {"dimod", "ising"}
        "ising" flips the signs of `h` and `J`, for models written as
        :math:`H = -\sum J s s - \sum h s` (Jałowiecki, Rams, Gardas 2021, Eq. 1).

    Raises
    ------
    InputError
        For NaN and infinities, wrong shapes, indices out of range, entries on the diagonal of `J`,
        repeated labels, and coefficients whose sum of absolute values overflows float64.

    Examples
    --------
    >>> from hardscape.ising import Ising
    >>> model = Ising([0.5, 0.0], [[0.0, -1.0], [0.0, 0.0]])
    >>> model.num_spins, model.num_couplings
    (2, 1)
    >>> model.energy([[1, 1], [-1, -1]]).tolist()
    [-0.5, -1.5]
    >>> Ising.from_qubo({("a", "a"): -1.0, ("a", "b"): 2.0}).labels
    ('a', 'b')
    """

    __slots__ = ("_digest", "_labels", "_terms")

    def __init__(
        self,
        h: ArrayLike,
        J: Any,
        offset: float = 0.0,
        *,
        labels: Iterable[Hashable] | None = None,
        convention: Convention = "dimod",
    ) -> None:
        fields = coefficients(h, "h")
        if fields.ndim != 1:
            raise InputError(
                f"h has shape {fields.shape}; one field a spin, shape (N,), is accepted"
            )
        row, col, value = matrix_entries(J, len(fields), "J")
        if (row == col).any():
            i = int(row[row == col][0])
            raise InputError(
                f"J[{i}, {i}] is on the diagonal; put fields in h, or use Ising.from_matrix, "
                "which reads the diagonal as fields"
            )
        sign = sign_of(convention)
        linear = [(i, sign * Fraction(x)) for i, x in enumerate(fields.tolist()) if x]
        self._set(collected(len(fields), linear, row, col, value, sign, offset), labels)

    def _set(self, terms: ExactTerms, labels: Iterable[Hashable] | None) -> None:
        self._labels = spin_names(labels, terms.num_spins)
        self._terms = terms
        self._digest: str | None = None

    @classmethod
    def from_exact(cls, terms: ExactTerms, labels: Iterable[Hashable] | None = None) -> Self:
        """Build from exact coefficients, as `exact` returns them."""
        model = cls.__new__(cls)
        model._set(terms, labels)
        return model

    # -- constructors ------------------------------------------------------------------------

    @classmethod
    def from_dict(
        cls,
        couplings: Mapping[tuple[Hashable, Hashable], float],
        fields: Mapping[Hashable, float] | None = None,
        offset: float = 0.0,
        *,
        convention: Convention = "dimod",
    ) -> Self:
        """Build from ``{(i, j): J_ij}``; keys ``(i, i)`` are fields, as in the paper's package.

        Labels that are all integers are sorted; else they keep their order of appearance.
        """
        names, terms = mapping_terms(couplings, fields or {}, offset, sign_of(convention))
        return cls.from_exact(terms, names)

    @classmethod
    def from_matrix(
        cls, matrix: Any, offset: float = 0.0, *, convention: Convention = "dimod"
    ) -> Self:
        """Build from a dense or sparse (N, N) matrix: h on the diagonal, the halves of J summed."""
        n = side_of(matrix, "matrix")
        row, col, value = matrix_entries(matrix, n, "matrix")
        return cls.from_entries(n, row, col, value, offset, convention=convention)

    @classmethod
    def from_entries(
        cls,
        num_spins: int,
        row: ArrayLike,
        col: ArrayLike,
        value: ArrayLike,
        offset: float = 0.0,
        *,
        convention: Convention = "dimod",
    ) -> Self:
        """Build from a coordinate list, summing repeated entries.

        Indices count from 0; where ``row == col`` the value is a field.
        """
        if not isinstance(num_spins, int | np.integer) or num_spins < 0:
            raise InputError(f"num_spins is {num_spins!r}; an integer, 0 or more, is accepted")
        rows, cols, values = checked_entries(row, col, value, num_spins, "value")
        sign = sign_of(convention)
        return cls.from_exact(collected(int(num_spins), [], rows, cols, values, sign, offset))

    @classmethod
    def from_qubo(cls, Q: Any, offset: float = 0.0) -> Self:
        r"""Build from a QUBO :math:`E(q) = \sum_{ij} Q_{ij} q_i q_j + c`, q = 0 or 1, s = 2q - 1.

        `Q` is a mapping ``{(i, j): value}``, or a dense or sparse (N, N) matrix whose halves are
        summed. The conversion is exact: divisions by 4 are shifts of the common power of two.
        """
        if isinstance(Q, Mapping) and not is_sparse(Q):
            as_pairs = cls.from_dict(Q, offset=offset)
        else:
            as_pairs = cls.from_matrix(Q, offset=offset)
        return cls.from_exact(as_pairs._terms.from_binary(), as_pairs._labels)

    @classmethod
    def from_bqm(cls, bqm: Any) -> Self:
        """Build from a ``dimod.BinaryQuadraticModel`` exactly, of either vartype."""
        names, terms = bqm_terms(bqm)
        return cls.from_exact(terms, names)

    @classmethod
    def from_networkx(
        cls,
        graph: Any,
        *,
        weight: str = "weight",
        field: str = "h",
        convention: Convention = "dimod",
    ) -> Self:
        """Build from a networkx graph, with the nodes as labels.

        The edge attribute `weight` (1 where absent) is the coupling, the node attribute `field` (0
        where absent) the field.
        """
        names, terms = graph_terms(graph, weight, field, sign_of(convention))
        return cls.from_exact(terms, names)

    @classmethod
    def from_file(
        cls,
        path: str | Path,
        *,
        format: str | None = None,
        base: int | None = None,
        convention: Convention = "dimod",
        problem: int | None = None,
    ) -> Self:
        """Read a file; :mod:`hardscape.ising.formats` says which, and how they are told apart.

        Parameters
        ----------
        path : str or Path
            Compressed or not; ``-`` is standard input.
        format : str, optional
            Its name; by default what :func:`hardscape.ising.formats.detect` finds.
        base : {0, 1}, optional
            First index of a text format, where the file's differs from the format's.
        convention : {"dimod", "ising"}
            Sign of the entries of a coordinate list; the other formats define theirs.
        problem : int, optional
            Which one of a file of several, from 1 on (orlib).

        Returns
        -------
        Ising
            Exactly what the file says; cost O(size of the file).

        Raises
        ------
        FormatError
            If the file is missing, unreadable or does not follow its format; with path and line.
        InputError
            If `format`, `base`, `convention` or `problem` has a value that is not accepted.
        """
        sign = None if convention == "dimod" else convention
        options = {"base": base, "convention": sign, "problem": problem}
        model = _FORMATS.read(path, format=format, **options)
        return cls.from_exact(model._terms, model._labels)

    def to_file(
        self,
        path: str | Path,
        *,
        format: str | None = None,
        base: int | None = None,
        convention: Convention = "dimod",
    ) -> None:
        """Write the model so that `from_file` gives the same coefficients back, exactly.

        The file appears whole or not at all; one that was there before is replaced.

        Parameters
        ----------
        path : str or Path
            A last suffix .gz, .xz or .bz2 compresses; ``-`` is standard output.
        format : str, optional
            Its name; by default what the suffix says. See :mod:`hardscape.ising.formats`.
        base : {0, 1}, optional
            First index: 0 or 1 for coordinate lists, the format's own for the others.
        convention : {"dimod", "ising"}
            Sign of the entries of a coordinate list.

        Raises
        ------
        InputError
            If the format cannot hold the model exactly, the suffix is unknown, an option is not
            accepted, or the file cannot be written.
        """
        if not isinstance(self, Ising):
            raise InputError(
                f"model is a {type(self).__name__}; Ising.from_any makes an Ising of it"
            )
        sign = None if convention == "dimod" else convention
        _FORMATS.write(self, path, format=format, base=base, convention=sign)

    @classmethod
    def from_any(cls, model: Any, *, convention: Convention = "dimod") -> Self:
        """Take a model in any accepted form: Ising, path, mapping, matrix, dimod model, networkx graph.

        Of a pair (h, J), both may be mappings, as dimod and openjij take them. Of dimod's models, those with
        integers or constraints are refused.

        Raises
        ------
        InputError
            If the type is none of these.
        """
        if isinstance(model, cls):
            return model
        if isinstance(model, str | Path):
            return cls.from_file(model, convention=convention)
        if is_quadratic(model):
            names, terms = quadratic_terms(model)
            return cls.from_exact(terms, names)
        if hasattr(model, "vartype") and hasattr(model, "quadratic"):
            return cls.from_bqm(model)
        if hasattr(model, "nodes") and hasattr(model, "edges"):
            return cls.from_networkx(model, convention=convention)
        if is_sparse(model):
            return cls.from_matrix(model, convention=convention)
        if isinstance(model, Mapping):
            return cls.from_dict(model, convention=convention)
        if isinstance(model, tuple) and len(model) in (2, 3):
            h, J, *offset = model
            if isinstance(h, Mapping):
                return cls.from_dict(J, h, *offset, convention=convention)
            return cls(h, J, *offset, convention=convention)
        if is_array(model) or isinstance(model, list):
            return cls.from_matrix(model, convention=convention)
        raise InputError(
            f"a model of type {type(model).__name__} is not understood; Ising, (h, J), a matrix, "
            "{(i, j): J}, a dimod model, a networkx graph and a file's path are"
        )

    # -- views -------------------------------------------------------------------------------

    @property
    def num_spins(self) -> int:
        """Number of spins N."""
        return self._terms.num_spins

    @property
    def num_couplings(self) -> int:
        """Number of pairs with a coupling that is not zero."""
        return len(self._terms.row)

    @property
    def labels(self) -> tuple[Hashable, ...]:
        """Names of the spins, in index order."""
        return self._labels

    @property
    def h(self) -> NDArray[np.float64]:
        """Fields, shape (N,), float64."""
        return self._terms.floats(self._terms.fields)

    @property
    def couplings(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
        """Couplings that are not zero as (row, column, value), row < column, sorted."""
        return self._terms.row, self._terms.col, self._terms.floats(self._terms.couplings)

    @property
    def J(self) -> NDArray[np.float64]:  # noqa: N802
        """Couplings as a dense strictly upper triangular (N, N) matrix."""
        row, col, value = self.couplings
        matrix = np.zeros((self.num_spins, self.num_spins))
        matrix[row, col] = value
        return matrix

    @property
    def offset(self) -> float:
        """The constant c."""
        return float(self._terms.floats([self._terms.offset])[0])

    @property
    def exact(self) -> ExactTerms:
        """The coefficients as integers times a power of two."""
        return self._terms

    @property
    def is_integer(self) -> bool:
        """Whether h, J and the offset are all integers."""
        return self._terms.exponent >= 0

    @property
    def digest(self) -> str:
        """SHA-256 of the exact coefficients; it does not depend on the labels."""
        if self._digest is None:
            self._digest = hashlib.sha256(self._terms.canonical()).hexdigest()
        return self._digest

    def energy(self, states: ArrayLike) -> NDArray[np.float64]:
        """Energies of states of shape (..., N) with entries -1 and +1.

        Returns float64 of shape (...): the exact sum rounded once, to nearest. Cost
        O(N + couplings) a state.
        """
        spins = as_spins(states, self.num_spins)
        flat = spins.reshape(prod(spins.shape[:-1]), self.num_spins)
        return self._terms.energies(flat).reshape(spins.shape[:-1])

    def to_bqm(self) -> Any:
        """Return a ``dimod.BinaryQuadraticModel`` (SPIN) with the same labels."""
        dimod = needed("dimod", "dimod", "dimod", "Ising.to_bqm")
        row, col, value = self.couplings
        names = self._labels
        return dimod.BinaryQuadraticModel(
            dict(zip(names, self.h.tolist(), strict=True)),
            {
                (names[i], names[j]): x
                for i, j, x in zip(row.tolist(), col.tolist(), value.tolist(), strict=True)
            },
            self.offset,
            "SPIN",
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Ising):
            return NotImplemented
        return self.digest == other.digest and self._labels == other._labels

    def __hash__(self) -> int:
        return hash((self.digest, self._labels))

    def __repr__(self) -> str:
        kind = "integer" if self.is_integer else "real"
        return f"<Ising: {self.num_spins} spins, {self.num_couplings} couplings, {kind}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return Ising.from_exact, (self._terms, self._labels)

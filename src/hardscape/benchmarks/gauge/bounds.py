r"""The lowest eigenvalue of the Faddeev-Popov operator between published bounds: SU(2), Landau gauge.

``python -m hardscape.benchmarks.gauge.bounds --processes 2 --save FOLDER`` takes configurations at beta = 2.2,
as A. Cucchieri and T. Mendes do. Of each field, with the least eigenvalue and its vector
:math:`\lambda_1, \psi_1`, the ghost propagator obeys (Phys. Rev. D 78, 094503 (2008))

.. math::
    \frac{1}{N_c^2 - 1} \sum_a \frac{|\tilde\psi_1^a(p)|^2}{\lambda_1} \le G(p) \le \frac{1}{\lambda_1},

and (Phys. Rev. D 88, 114501 (2013))

.. math::
    \lambda_1 \ge (1 - \rho)\, p_{\min}^2 ,

where M is :math:`(1 - \rho) (-\Delta) + \rho M'` with M' on the horizon: :math:`1 - \rho` is the least
eigenvalue of :math:`(-\Delta)^{-1/2} M (-\Delta)^{-1/2}`. Both are of any field, and no averages: they tell
whether eigenvalue, vector and propagator are of one operator. That it is the right one is told by its whole
matrix, put together here from the links, entry by entry, whose lowest eigenvalues ARPACK finds.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from cyclopts import App
from numpy.typing import NDArray

from hardscape.benchmarks.cores import on_cores
from hardscape.benchmarks.tables import Table
from hardscape.gauge import GaugeField, faddeev_popov_eigenvalues, fix, generate, ghost_propagator

app = App(help=__doc__, result_action="return_value")

_BETA, _MOMENTUM = 2.2, (1, 0, 0, 0)
_COLUMNS = [
    "lattice, beta",
    "configurations",
    "lambda_1",
    "error",
    "off ARPACK's by at most",
    "(1 - rho) p^2",
    "p^2",
    "G from below",
    "G",
    "1 / lambda_1",
    "bounds hold in",
]


def generators() -> NDArray[np.complex128]:
    """Half of Pauli's matrices."""
    sigma = [[[0, 1], [1, 0]], [[0, -1j], [1j, 0]], [[1, 0], [0, -1]]]
    return np.array(sigma, dtype=np.complex128) / 2


def whole_matrix(field: GaugeField) -> Any:
    r"""M of SU(2) as a sparse matrix on components, the one of colour fastest.

    .. math::
        M^{ab}_{xy} = \sum_\mu \mathrm{tr} \{T^a, T^b\} H_\mu(x)\, \delta_{xy}
        - 2\, \mathrm{Re\,tr}\, [T^b T^a U_\mu(x)]\, \delta_{x + \hat\mu, y}
        - (x \leftrightarrow y,\, a \leftrightarrow b),

    H the hermitian parts of the links at x.
    """
    from scipy import sparse

    t, links = generators(), field.links.reshape(-1, field.dimensions, 2, 2)
    volume, colours = len(links), np.arange(3)
    sites = np.arange(volume)
    onsite, hops = np.zeros((volume, 3, 3)), sparse.csr_matrix((3 * volume, 3 * volume))
    for mu in range(field.dimensions):
        ahead = np.roll(sites.reshape(field.shape[::-1]), -1, field.dimensions - 1 - mu).ravel()
        traces = 2 * np.einsum("bij,ajk,xki->xab", t, t, links[:, mu]).real
        local = (traces + traces.swapaxes(1, 2)) / 2
        np.add.at(onsite, sites, local)
        np.add.at(onsite, ahead, local)
        hops = hops - _blocks(sparse, sites, ahead, traces, colours)
    return hops + hops.T + _blocks(sparse, sites, sites, onsite, colours)


def _blocks(sparse: Any, rows: Any, columns: Any, entries: Any, colours: Any) -> Any:
    """A matrix with a block of colours for each pair of sites."""
    row = np.broadcast_to(3 * rows[:, None, None] + colours[:, None], entries.shape)
    column = np.broadcast_to(3 * columns[:, None, None] + colours, entries.shape)
    size = 3 * len(rows)
    return sparse.csr_matrix((entries.ravel(), (row.ravel(), column.ravel())), (size, size))


def lowest(matrix: Any, shape: tuple[int, ...]) -> tuple[float, NDArray[np.float64], float]:
    """lambda_1, psi_1 of shape (T, Z, Y, X, 3), and 1 - rho."""
    from scipy.sparse.linalg import LinearOperator, eigsh

    extents = shape[::-1]
    grids = np.meshgrid(*(np.arange(n) for n in extents), indexing="ij")
    squares = np.sum(
        [4 * np.sin(np.pi * x / n) ** 2 for x, n in zip(grids, extents, strict=True)], 0
    )
    squares[(0,) * len(extents)] = np.inf
    root = 1 / np.sqrt(squares)[..., None]
    axes = tuple(range(len(extents)))

    def without_constants(vector: Any) -> Any:
        parts = vector.reshape(-1, 3)
        return (parts - parts.mean(axis=0)).ravel()

    def raised(vector: Any) -> Any:  # constant fields, on which M vanishes, out of the way
        inside = without_constants(vector)
        return matrix @ inside + 100 * (vector.ravel() - inside)

    def half(vector: Any) -> Any:
        turned = np.fft.fftn(vector.reshape(*extents, 3), axes=axes)
        return np.fft.ifftn(root * turned, axes=axes).real.ravel()

    def weighed(vector: Any) -> Any:
        inside = without_constants(vector)
        return half(matrix @ half(inside)) + 100 * (vector.ravel() - inside)

    def least(function: Any) -> Any:
        operator = LinearOperator(matrix.shape, matvec=function, dtype=float)
        start = np.random.default_rng(1).standard_normal(matrix.shape[0])
        return eigsh(operator, k=1, which="SA", tol=1e-9, v0=start)

    (value,), vector = least(raised)
    (ratio,), _ = least(weighed)
    return float(value), vector.reshape(*extents, 3), float(ratio)


def measured(seed: int, extent: int) -> NDArray[np.float64]:
    """lambda_1 by both ways, the bound from below, and G between its bounds, of one configuration."""
    run: dict[str, Any] = {"device": "cpu", "threads": 1}
    field = generate((extent,) * 4, _BETA, 2, seed=seed, sweeps=200, **run)
    fixed = fix(field, "landau", theta=1e-14, seed=seed, **run).fixed()
    ours = faddeev_popov_eigenvalues(fixed, 1, residual=1e-9, **run).value[0]
    ghost = ghost_propagator(fixed, [_MOMENTUM], **run).value[0]
    value, vector, ratio = lowest(whole_matrix(fixed), fixed.shape)
    wave = np.fft.fftn(vector, axes=(0, 1, 2, 3))[0, 0, 0, 1] / np.sqrt(fixed.volume)
    square = 4 * np.sin(np.pi / extent) ** 2
    below = (np.abs(wave) ** 2).sum() / 3 / value
    return np.array([ours, value, ratio * square, square, below, ghost, 1 / ours])


@app.default
def main(
    *,
    save: Path | None = None,
    extents: str = "8,12,16",
    configurations: int = 12,
    processes: int = 2,
) -> None:
    """Print the table.

    Parameters
    ----------
    save
        Folder for the table as JSON.
    extents
        Of the lattices.
    configurations
        Independent ones of each.
    processes
        On a core each.
    """
    table = Table.begun("gauge-bounds", _COLUMNS, "scipy")
    for extent in map(int, extents.split(",")):
        work = partial(measured, extent=extent)
        found = np.array(list(on_cores(work, range(1, configurations + 1), processes)))
        ours, others, above, square, below, ghost, most = found.T
        hold = (above <= ours) & (below <= ghost) & (ghost <= most)
        error = float(ours.std(ddof=1) / np.sqrt(len(ours)))
        means = [float(x.mean()) for x in (above, square, below, ghost, most)]
        off = float(np.abs(ours - others).max())
        where = f"{extent}^4, {_BETA}"
        table.add(where, configurations, float(ours.mean()), error, off, *means, int(hold.sum()))
        if save is not None:  # after each lattice: large ones take long
            table.save(save)


if __name__ == "__main__":
    app()

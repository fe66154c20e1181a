"""Gauge functionals and gauge conditions in plain NumPy, after their definitions.

Links U have shape (T, Z, Y, X, 4, Nc, Nc), mu = x, y, z, t; sites run over the first four axes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Links = NDArray[Any]
#: Directions that each gauge's functional sums over.
DIRECTIONS = {"landau": (0, 1, 2, 3), "coulomb": (0, 1, 2), "mag": (0, 1, 2, 3)}


def dagger(matrices: Links) -> Links:
    return np.conj(np.swapaxes(matrices, -1, -2))


def backward(links: Links, mu: int) -> Links:
    """U_mu(x-mu) at x."""
    return np.roll(links[..., mu, :, :], 1, axis=3 - mu)


def transformed(links: Links, g: Links) -> Links:
    """g(x) U_mu(x) g(x+mu)^dagger in double."""
    wide = links.astype(np.complex128)
    return np.stack(
        [g @ wide[..., mu, :, :] @ dagger(np.roll(g, -1, axis=3 - mu)) for mu in range(4)], axis=4
    )


def functional(links: Links, gauge: str) -> float:
    """F: Re tr U, or sum_j |U_jj|^2 for "mag", averaged over links and colours."""
    used = links[..., list(DIRECTIONS[gauge]), :, :]
    diagonal = np.diagonal(used, axis1=-2, axis2=-1)
    return float(np.mean(np.abs(diagonal) ** 2 if gauge == "mag" else diagonal.real))


def slice_functionals(links: Links, gauge: str) -> list[float]:
    """F of each timeslice by itself."""
    return [functional(links[t : t + 1], gauge) for t in range(links.shape[0])]


def gradient(links: Links, gauge: str) -> Links:
    """Delta(x), antihermitian and traceless, shape (T, Z, Y, X, Nc, Nc); zero in the gauge.

    Landau, Coulomb: sum_mu [U_mu(x) - U_mu(x-mu)] - h.c. without its trace. MAG: the off-diagonal
    sum_mu sum_j [U_mu(x) P_j U_mu(x)^dagger + U_mu(x-mu)^dagger P_j U_mu(x-mu), P_j] with the
    projectors P_j on colour j.
    """
    nc = links.shape[-1]
    total = np.zeros((*links.shape[:4], nc, nc), dtype=np.complex128)
    for mu in DIRECTIONS[gauge]:
        ahead, behind = links[..., mu, :, :].astype(np.complex128), backward(links, mu)
        if gauge == "mag":
            for j in range(nc):
                P = np.diag(np.eye(nc)[j])
                W = ahead @ P @ dagger(ahead) + dagger(behind) @ P @ behind
                total += W @ P - P @ W
        else:
            total += ahead - behind
    if gauge == "mag":
        return total
    delta = total - dagger(total)
    trace = np.trace(delta, axis1=-2, axis2=-1)[..., None, None]
    return delta - trace * np.eye(nc) / nc


def theta_by_site(links: Links, gauge: str) -> NDArray[np.float64]:
    """tr(Delta Delta^dagger) / Nc at each site, shape (T, Z, Y, X)."""
    delta = gradient(links, gauge)
    return np.sum(np.abs(delta) ** 2, axis=(-2, -1)) / links.shape[-1]


def theta(links: Links, gauge: str, reduction: str = "mean") -> float:
    """Distance from the gauge, over all sites; at its worst timeslice for Coulomb's mean."""
    by_site = theta_by_site(links, gauge)
    if reduction == "max":
        return float(by_site.max())
    by_slice = by_site.mean(axis=(1, 2, 3))
    return float(by_slice.max() if gauge == "coulomb" else by_slice.mean())


def plaquette(links: Links) -> float:
    """Mean of Re tr U_mu(x) U_nu(x+mu) U_mu(x+nu)^dagger U_nu(x)^dagger / Nc, site by site."""
    T, Z, Y, X = extents = links.shape[:4]
    total = 0.0
    for site in np.ndindex(T, Z, Y, X):
        for mu in range(4):
            for nu in range(mu):
                ahead = [list(site), list(site)]
                for which, direction in enumerate((mu, nu)):
                    axis = 3 - direction
                    ahead[which][axis] = (site[axis] + 1) % extents[axis]
                product = (
                    links[site][mu]
                    @ links[tuple(ahead[0])][nu]
                    @ dagger(links[tuple(ahead[1])][mu])
                    @ dagger(links[site][nu])
                )
                total += float(np.trace(product).real)
    return total / (6 * links.shape[-1] * T * Z * Y * X)


def schwinger_dyson(links: Links, beta: float) -> float:
    """What vanishes on average in the ensemble of the Wilson action, as a mean over links.

    Turning one link by a small element of the group leaves the integral as it is. With W the link
    times the sum of its staples, and P the antihermitian part of W without its trace, that says
    (Nc^2 - 1) / (2 Nc) Re tr W = beta / (2 Nc) tr P P^dagger on average.
    """
    nc = links.shape[-1]
    total = 0.0
    for mu in range(4):
        staples = np.zeros_like(links[..., 0, :, :])
        for nu in range(4):
            if nu == mu:
                continue
            across, along = links[..., nu, :, :], links[..., mu, :, :]
            ahead = np.roll(across, -1, axis=3 - mu)
            staples += ahead @ dagger(np.roll(along, -1, axis=3 - nu)) @ dagger(across)
            lower = dagger(ahead) @ dagger(along) @ across
            staples += np.roll(lower, 1, axis=3 - nu)
        w = links[..., mu, :, :] @ staples
        p = (w - dagger(w)) / 2
        trace = np.trace(p, axis1=-2, axis2=-1)
        square = (np.abs(p) ** 2).sum(axis=(-2, -1)) - np.abs(trace) ** 2 / nc
        real = np.trace(w, axis1=-2, axis2=-1).real
        total += float(((nc * nc - 1) / (2 * nc) * real - beta / (2 * nc) * square).mean())
    return total / 4


def assert_ensemble_of_action(chain: Any, beta: float, count: int, apart: int) -> None:
    """That so many fields, some sweeps apart, are of the ensemble at beta, and not of one beside it."""
    chain.run(60)
    values, wrong = [], []
    for _ in range(count):
        chain.run(apart)
        links = np.asarray(chain.field.links)
        values.append(schwinger_dyson(links, beta))
        wrong.append(schwinger_dyson(links, 0.97 * beta))
    error = np.std(values, ddof=1) / np.sqrt(len(values))
    assert abs(np.mean(values)) < 4 * error
    assert abs(np.mean(wrong)) > 6 * error


def propagator_at(links: Links, directions: int, momentum: tuple[int, ...]) -> float:
    """D at p = 2 pi k / L (k in the order x, y, z, t) by its definition, summed site by site.

    Over four directions, or over three of them at each timeslice by itself.
    """
    T, Z, Y, X = extents = links.shape[:4]
    nc = links.shape[-1]
    slices: list[range] = [range(T)] if directions == 4 else [range(t, t + 1) for t in range(T)]
    lengths = extents[::-1][:directions]
    total = 0.0
    for times in slices:
        for mu in range(directions):
            a = np.zeros((nc, nc), dtype=np.complex128)
            for t in times:
                for z, y, x in np.ndindex(Z, Y, X):
                    u = links[t, z, y, x, mu]
                    site = (u - dagger(u)) / 2j
                    site -= np.trace(site) * np.eye(nc) / nc
                    at = (x, y, z, t)[:directions]
                    turns = sum(k * s / n for k, s, n in zip(momentum, at, lengths, strict=True))
                    a += site * np.exp(-2j * np.pi * turns)
            total += 2 * float(np.trace(a @ dagger(a)).real)
    volume = int(np.prod(lengths))
    polarisations = directions - any(momentum)
    return total / ((nc**2 - 1) * polarisations * volume * len(slices))

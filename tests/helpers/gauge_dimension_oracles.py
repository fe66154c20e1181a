"""Fields of any number of dimensions in plain NumPy: axis `dimensions - 1 - mu` of sites is direction mu."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


def dagger(matrices: Array) -> Array:
    return np.conj(np.swapaxes(matrices, -1, -2))


def link(links: Array, mu: int) -> Array:
    return links[..., mu, :, :].astype(np.complex128)


def ahead(values: Array, dimensions: int, mu: int, steps: int = 1) -> Array:
    """Values of the site so many steps ahead in mu, of arrays whose first axes are those of sites."""
    return np.roll(values, -steps, axis=dimensions - 1 - mu)


def plaquette_products(links: Array, mu: int, nu: int) -> Array:
    d = links.shape[-3]
    u, v = link(links, mu), link(links, nu)
    return u @ ahead(v, d, mu) @ dagger(ahead(u, d, nu)) @ dagger(v)


def plaquettes(links: Array) -> dict[tuple[int, int], float]:
    """Mean of Re tr / Nc for each plane of a periodic field."""
    return {
        (mu, nu): float(np.trace(plaquette_products(links, mu, nu), axis1=-2, axis2=-1).real.mean())
        / links.shape[-1]
        for mu, nu in itertools.combinations(range(links.shape[-3]), 2)
    }


def weights(links: Array, gauge: str, anisotropy: float) -> list[float]:
    d = links.shape[-3]
    return [1.0] * (d - 1) + ([] if gauge == "coulomb" else [anisotropy])


def functional(links: Array, gauge: str, anisotropy: float = 1.0) -> float:
    """The weighted mean of Re tr U / Nc, or of sum_j |U_jj|^2 / Nc."""
    chosen = weights(links, gauge, anisotropy)
    means = []
    for mu in range(len(chosen)):
        diagonal = np.diagonal(link(links, mu), axis1=-2, axis2=-1)
        means.append(np.mean(np.abs(diagonal) ** 2 if gauge == "mag" else diagonal.real))
    return float(np.average(means, weights=chosen))


def theta_by_site(links: Array, gauge: str, anisotropy: float = 1.0) -> Array:
    """tr(Delta Delta^dagger) / Nc."""
    d, nc = links.shape[-3], links.shape[-1]
    delta = np.zeros((*links.shape[:-3], nc, nc), dtype=np.complex128)
    for mu, weight in enumerate(weights(links, gauge, anisotropy)):
        u = link(links, mu)
        v = ahead(u, d, mu, -1)
        if gauge == "mag":
            for j in range(nc):
                P = np.diag(np.eye(nc)[j])
                W = u @ P @ dagger(u) + dagger(v) @ P @ v
                delta += weight * (W @ P - P @ W)
        else:
            delta += weight * (u - v - dagger(u - v))
    if gauge != "mag":
        delta -= np.trace(delta, axis1=-2, axis2=-1)[..., None, None] * np.eye(nc) / nc
    return (np.abs(delta) ** 2).sum(axis=(-1, -2)) / nc


def schwinger_dyson(links: Array, beta: float, xi: float = 1.0) -> float:
    """What vanishes on average in the ensemble of the action, for a turn of a link (see gauge_oracles)."""
    d, nc = links.shape[-3], links.shape[-1]
    total = 0.0
    for mu in range(d):
        staples = np.zeros_like(link(links, 0))
        for nu in range(d):
            if nu == mu:
                continue
            weight = xi if d - 1 in (mu, nu) else 1 / xi
            u, v = link(links, mu), link(links, nu)
            upper = ahead(v, d, mu) @ dagger(ahead(u, d, nu)) @ dagger(v)
            lower = dagger(ahead(v, d, mu)) @ dagger(u) @ v
            staples += weight * (upper + ahead(lower, d, nu, -1))
        w = link(links, mu) @ staples
        p = (w - dagger(w)) / 2
        square = (np.abs(p) ** 2).sum(axis=(-2, -1))
        square = square - np.abs(np.trace(p, axis1=-2, axis2=-1)) ** 2 / nc
        real = np.trace(w, axis1=-2, axis2=-1).real
        total += float(((nc * nc - 1) / (2 * nc) * real - beta / (2 * nc) * square).mean())
    return total / d


def gluon(links: Array, xi: float, k: tuple[int, ...]) -> tuple[float, list[float], float]:
    """abs(p), what each direction has of D, and D at a momentum, by sums over sites (linear A)."""
    d, nc = links.shape[-3], links.shape[-1]
    extents = links.shape[:-3][::-1]
    units = [1.0] * (d - 1) + [xi]
    p = [u * 2 * np.sin(np.pi * n / e) for u, n, e in zip(units, k, extents, strict=True)]
    each = []
    for mu in range(d):
        a = (link(links, mu) - dagger(link(links, mu))) / 2j
        a = units[mu] * (a - np.trace(a, axis1=-2, axis2=-1)[..., None, None] * np.eye(nc) / nc)
        summed = np.zeros((nc, nc), dtype=np.complex128)
        for site in np.ndindex(*links.shape[:-3]):
            phase = sum(n * s / e for n, s, e in zip(k, site[::-1], extents, strict=True))
            summed += a[site] * np.exp(-2j * np.pi * phase)
        # Space-time is xi times less than there are sites, and so is the sum of a field over it.
        sites = np.prod(extents)
        each.append(2 * float((np.abs(summed / xi) ** 2).sum()) / ((nc**2 - 1) * sites / xi))
    square = float(np.dot(p, p))
    return np.sqrt(square), each, sum(each) / (d - (square > 1e-20))


def faddeev_popov(links: Array, field: Array, xi: float) -> Array:
    """Minus the second variation of the weighted functional."""
    d, nc = links.shape[-3], links.shape[-1]
    found = np.zeros_like(field)
    for mu in range(d):
        weight = xi**2 if mu == d - 1 else 1.0
        u = link(links, mu)
        v = ahead(u, d, mu, -1)
        h = (u + dagger(u) + v + dagger(v)) / 2
        far, near = ahead(field, d, mu), ahead(field, d, mu, -1)
        found += weight * (field @ h + h @ field) / 2
        found -= weight * (u @ far + far @ dagger(u) + dagger(v) @ near + near @ v) / 2
    return found - np.trace(found, axis1=-2, axis2=-1)[..., None, None] * np.eye(nc) / nc


def ghost_one_loop(shape: tuple[int, ...], k: tuple[int, ...]) -> tuple[float, float]:
    """The two sums of the ghost's self-energy in Landau gauge, without constant modes, per g0^2.

    The variance of a gluon field's component at a site, and (1 / V p^2) sum_q v_mu D_mu_nu(p - q) v_nu / q^2
    with v_mu = p_mu cos(q_mu / 2) and the transverse D of tree level.
    """
    d, volume = len(shape), float(np.prod(shape))
    angles = np.meshgrid(*[2 * np.pi * np.arange(e) / e for e in shape], indexing="ij", sparse=True)
    gluon_p = [2 * np.sin(a / 2) for a in angles]
    square = sum(x**2 for x in gluon_p)
    square = np.where(square < 1e-12, np.inf, square)
    tadpole = (1 - 1 / d) * float((1 / square).sum()) / volume
    ghost = [2 * np.pi * n / e for n, e in zip(k, shape, strict=True)]
    p = [2 * np.sin(x / 2) for x in ghost]
    inner = [x - a for x, a in zip(ghost, angles, strict=True)]
    inner_square = sum((2 * np.sin(x / 2)) ** 2 for x in inner)
    inner_square = np.where(inner_square < 1e-12, np.inf, inner_square)
    v = [a * np.cos(x / 2) for a, x in zip(p, inner, strict=True)]
    along = sum(a * b for a, b in zip(v, gluon_p, strict=True))
    transverse = sum(x**2 for x in v) - along**2 / square
    total = float((transverse / square / inner_square).sum())
    return tadpole, total / volume / float(np.dot(p, p))

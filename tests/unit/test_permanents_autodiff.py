"""Permanents in packages that differentiate, and arrays of packages that follow the standard."""

from __future__ import annotations

import numpy as np
import pytest

import hardscape
from hardscape.errors import InputError
from hardscape.permanents import minors, value_and_grad

REAL = np.random.default_rng(1).normal(size=(2, 3, 4, 4))
COMPLEX = REAL[0] + 1j * REAL[1]


@pytest.fixture
def jax():
    module = pytest.importorskip("jax")
    module.config.update("jax_enable_x64", True)
    return module


def test_torch_goes_backward():
    torch = pytest.importorskip("torch")
    from hardscape.permanents.torch import permanent

    for given in (REAL[0, 0], COMPLEX[0], REAL[0], COMPLEX):
        a = torch.tensor(given, requires_grad=True)
        found = permanent(a)
        assert np.allclose(found.detach().numpy(), hardscape.permanent(given))
        assert torch.autograd.gradcheck(permanent, (a,))
    a = torch.tensor(REAL[0, 0], requires_grad=True)
    assert torch.autograd.gradcheck(
        lambda x: permanent(x, rows=[1, 2, 0, 1], cols=[2, 1, 1, 0]), (a,)
    )
    for dtype in (torch.float32, torch.complex64):
        a = torch.tensor(COMPLEX[0].real, dtype=dtype, requires_grad=True)
        found = permanent(a)
        found.abs().backward()
        assert found.dtype == a.grad.dtype == dtype
        assert minors(a.detach(), dtype=dtype).dtype == dtype
    assert not permanent(a.detach()).requires_grad
    with pytest.raises(InputError):
        permanent(torch.ones(2, 2, dtype=torch.int64))


def test_jax_goes_backward(jax):
    from hardscape.permanents.jax import permanent

    check_grads = pytest.importorskip("jax.test_util").check_grads
    for given in (REAL[0, 0], COMPLEX[0], REAL[0]):
        assert np.allclose(permanent(given), hardscape.permanent(given))
        check_grads(permanent, (given,), 1, modes=["rev"])
    counted = lambda x: permanent(x, rows=[1, 2, 0, 1], cols=[2, 1, 1, 0])  # noqa: E731
    check_grads(counted, (REAL[0, 0],), 1, modes=["rev"])
    value = jax.grad(permanent, holomorphic=True)(COMPLEX[0])
    assert np.allclose(value, minors(COMPLEX[0]))


def test_jax_compiles_and_maps(jax):
    from hardscape.permanents.jax import permanent

    found = jax.jit(jax.vmap(jax.vmap(jax.grad(permanent))))(REAL)
    expected = np.array([value_and_grad(x)[1] for x in REAL])
    assert np.allclose(found, expected)
    counted = jax.vmap(lambda x: permanent(x, rows=[2, 1, 1, 0], cols=[1, 1, 1, 1]))
    alone = [hardscape.permanent(x, rows=[2, 1, 1, 0], cols=[1, 1, 1, 1]) for x in REAL[0]]
    assert np.allclose(counted(REAL[0]), alone)
    assert permanent(jax.numpy.ones((3, 3), dtype="float32")).dtype == np.float32
    assert permanent(jax.numpy.ones((3, 3), dtype=int)) == 6


@pytest.mark.parametrize("name", ["array_api_strict", "jax.numpy"])
def test_arrays_of_other_packages_stay_there(name):
    xp = pytest.importorskip(name)
    batch = xp.asarray(REAL[0])
    kind = type(batch)
    values, gradients = value_and_grad(batch)
    assert isinstance(values, kind)
    assert isinstance(gradients, kind)
    assert gradients.shape == batch.shape
    assert np.allclose(np.asarray(values), hardscape.permanent(REAL[0]), rtol=1e-5)
    assert isinstance(hardscape.permanent(batch), kind)
    assert isinstance(minors(batch[0, :, :]), kind)
    assert isinstance(hardscape.permanent(batch[0, :, :]), float)
    narrow = xp.astype(batch, xp.float32)
    for found in (
        hardscape.permanent(narrow, dtype=narrow.dtype),
        *value_and_grad(narrow, dtype=narrow.dtype),
    ):
        assert isinstance(found, kind)
        assert found.dtype == xp.float32

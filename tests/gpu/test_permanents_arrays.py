"""CuPy arrays and torch tensors in, the same kind out."""

from __future__ import annotations

import math
import warnings
from fractions import Fraction

import numpy as np
import pytest

import hardscape
from hardscape.errors import InputError, OverflowWarning
from hardscape.permanents import minors, plan, value_and_grad

pytestmark = pytest.mark.gpu

cupy = pytest.importorskip("cupy")

SQUARE = np.random.default_rng(7).normal(size=(9, 9))
SMALL = [[1, 2], [3, 4]]


def torch():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of what torch itself imports
        return pytest.importorskip("torch")


def batch(count, n, kind):
    rng = np.random.default_rng(count + n)
    a = rng.normal(size=(count, n, n))
    return a + 1j * rng.normal(size=a.shape) if np.dtype(kind).kind == "c" else a


def test_one_cupy_matrix_gives_a_python_number():
    value = hardscape.permanent(cupy.asarray(SQUARE))
    assert type(value) is float
    assert value == hardscape.permanent(SQUARE)
    assert type(hardscape.permanent(cupy.asarray(SQUARE * 1j))) is complex
    assert hardscape.permanent(cupy.asarray(SMALL)) == 10
    assert hardscape.permanent(cupy.asarray([[True, False], [True, True]])) == 1
    exact = hardscape.permanent(cupy.asarray([[0.5, 1.0], [1.0, 1.0]]), precision="exact")
    assert exact == Fraction(3, 2)


def test_multiplicities_in_cupy_and_torch():
    for kind in (cupy.asarray, torch().tensor):
        a, rows, cols = kind(SMALL), kind([2, 1]), kind([1, 2])
        assert hardscape.permanent(a, rows=rows, cols=cols) == 56


@pytest.mark.parametrize("device", ["auto", "cpu", "cuda", "cuda:0"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize(("count", "n"), [(1, 3), (300, 8), (40, 13)])
def test_a_cupy_batch_gives_a_cupy_array(count, n, dtype, device):
    a = batch(count, n, dtype).astype(dtype)
    found = hardscape.permanent(cupy.asarray(a), device=device)
    assert isinstance(found, cupy.ndarray)
    assert found.dtype == (np.complex128 if np.dtype(dtype).kind == "c" else np.float64)
    np.testing.assert_allclose(found.get(), hardscape.permanent(a, device="cpu"), rtol=1e-9)


@pytest.mark.parametrize("where", ["cpu", "cuda"])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float64", "complex64", "complex128"])
def test_a_torch_batch_gives_a_torch_tensor(dtype, where):
    kind = complex if dtype.startswith("complex") else float
    a = torch().tensor(batch(50, 11, kind)).to(getattr(torch(), dtype)).to(where)
    found = hardscape.permanent(a)
    assert isinstance(found, torch().Tensor)
    assert found.device == a.device
    wide = torch().complex128 if kind is complex else torch().float64
    assert found.dtype == wide
    expected = hardscape.permanent(a.to(wide).cpu().numpy())
    np.testing.assert_allclose(found.cpu().numpy(), expected, rtol=1e-9)


def test_torch_views():
    a = torch().tensor(batch(6, 7, complex), device="cuda")
    expected = hardscape.permanent(a.cpu().numpy())
    for view in (a.transpose(1, 2), a.flip(1), a.repeat(2, 1, 1)[::2][[0, 2, 1]]):
        assert hardscape.permanent(view).is_cuda
    np.testing.assert_allclose(
        hardscape.permanent(a.transpose(1, 2)).cpu().numpy(), expected, rtol=1e-11
    )
    np.testing.assert_allclose(
        hardscape.permanent(a.conj()).cpu().numpy(), expected.conj(), rtol=1e-11
    )
    one = hardscape.permanent(a[0].conj().imag + 0j)
    assert one == pytest.approx(hardscape.permanent(-a[0].imag.cpu().numpy()), rel=1e-11)
    sparse = torch().eye(5).to_sparse()
    assert hardscape.permanent(sparse) == 1.0


def test_work_of_other_streams_is_waited_for():
    a = batch(64, 10, float)
    expected = hardscape.permanent(a)
    stream = cupy.cuda.Stream(non_blocking=True)
    with stream:
        given = cupy.zeros(a.shape)
        busy = cupy.ones((4000, 4000))
        for _ in range(20):
            busy = busy @ busy * 1e-4
        given += cupy.asarray(a) + 0 * busy[0, 0]
        np.testing.assert_allclose(hardscape.permanent(given).get(), expected, rtol=1e-11)
    side = torch().cuda.Stream()
    source = torch().tensor(a, device="cuda")
    with torch().cuda.stream(side):
        busy = torch().ones(4000, 4000, device="cuda", dtype=torch().float64)
        for _ in range(20):
            busy = busy @ busy * 1e-4
        given = source + 0 * busy[0, 0]
        found = hardscape.permanent(given)
        np.testing.assert_allclose(found.cpu().numpy(), expected, rtol=1e-11)


def test_batches_that_need_structure_come_home_too():
    a = batch(3, 14, float) * (np.random.default_rng(1).random((3, 14, 14)) < 0.3)
    found = hardscape.permanent(cupy.asarray(a))
    assert isinstance(found, cupy.ndarray)
    np.testing.assert_allclose(found.get(), hardscape.permanent(a), rtol=1e-11)
    results = hardscape.permanent(cupy.asarray(a), full_output=True)
    assert [r.value for r in results] == found.get().tolist()
    tensor = torch().tensor(a, device="cuda")
    assert hardscape.permanent(tensor, precision="extended").is_cuda
    empty = hardscape.permanent(cupy.zeros((0, 4, 4)))
    assert isinstance(empty, cupy.ndarray)
    assert empty.shape == (0,)


def test_values_beyond_float64_warn():
    a = np.full((2, 12, 12), 1.0)
    a[1] *= 1e40
    with pytest.warns(OverflowWarning):
        found = hardscape.permanent(cupy.asarray(a))
    assert isinstance(found, cupy.ndarray)
    assert found.get().tolist() == [float(math.factorial(12)), math.inf]


def test_what_cancels_is_found_again():
    a = 1 + 1e-3 * batch(3, 12, float)
    a[:, :6] *= -1
    a[:, :, ::2] *= -1
    exact = [float(hardscape.permanent(one, precision="exact")) for one in a]
    assert hardscape.permanent(cupy.asarray(a), rtol=0.0).get().tolist() == exact


def test_exact_batches_are_python_numbers():
    for a in (cupy.full((2, 30, 30), 99), torch().full((2, 30, 30), 99)):
        found = hardscape.permanent(a)
        assert isinstance(found, np.ndarray)
        assert found[0] == hardscape.permanent(np.full((30, 30), 99))
    rounded = hardscape.permanent(cupy.full((2, 5, 5), 3), precision="double")
    assert isinstance(rounded, cupy.ndarray)
    assert rounded.tolist() == [29160.0, 29160.0]


def test_gradients():
    tensor = torch().tensor(SQUARE, requires_grad=True)
    for a in (tensor, tensor.detach().cuda()[None].requires_grad_()):
        with pytest.raises(InputError):
            hardscape.permanent(a)
    with torch().no_grad():
        assert hardscape.permanent(tensor) == hardscape.permanent(SQUARE)
    expected = minors(SQUARE)
    for a in (tensor, tensor.detach().cuda()):
        value, gradient = value_and_grad(a)
        assert type(value) is float
        assert isinstance(gradient, torch().Tensor)
        assert gradient.device == a.device
        np.testing.assert_array_equal(gradient.cpu().numpy(), expected)
    assert isinstance(minors(cupy.asarray(SQUARE)), cupy.ndarray)
    assert minors(cupy.asarray(SMALL)).tolist() == [[4, 3], [2, 1]]


def test_autograd_through_a_function_of_the_user():
    class Permanent(torch().autograd.Function):
        @staticmethod
        def forward(ctx, a):
            value, gradient = value_and_grad(a)
            ctx.save_for_backward(gradient)
            return torch().tensor(value, dtype=gradient.dtype, device=a.device)

        @staticmethod
        def backward(ctx, upstream):
            return upstream * ctx.saved_tensors[0].conj()

    for entries in (SQUARE[:5, :5], SQUARE[:5, :5] + 1j * SQUARE[2:7, 1:6]):
        a = torch().tensor(entries, requires_grad=True)
        assert torch().autograd.gradcheck(Permanent.apply, (a,))


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_entries_that_are_not_finite(bad):
    a = batch(40, 6, float)
    a[31, 2, 4] = bad
    for kind in (cupy.asarray, lambda x: torch().tensor(x, device="cuda"), np.asarray):
        with pytest.raises(InputError) as caught:
            hardscape.permanent(kind(a), device="cuda:0")
        assert "[31, 2, 4]" in str(caught.value)
    with pytest.raises(InputError) as caught:
        hardscape.permanent(cupy.zeros((2, 3, 4)))
    assert "(2, 3, 4)" in str(caught.value)


def test_plan_takes_a_matrix_of_the_gpu():
    assert plan(cupy.asarray(SQUARE)).terms == plan(SQUARE).terms


def test_input_is_not_modified():
    for kind in (cupy.asarray, lambda x: torch().tensor(x, device="cuda")):
        a = kind(batch(5, 8, complex))
        before = a.copy() if isinstance(a, cupy.ndarray) else a.clone()
        hardscape.permanent(a)
        assert bool((a == before).all())
    host = batch(5, 8, complex)
    hardscape.permanent(host, device="cuda:0")
    host[0, 0, 0] = 1.0  # still writable


def test_portions_of_a_large_batch_agree_with_the_cpu():
    a = batch(60_000, 5, float)
    np.testing.assert_allclose(
        hardscape.permanent(a, device="cuda:0"),
        hardscape.permanent(a, device="cpu"),
        rtol=1e-9,
        atol=1e-12,
    )
    same = np.repeat(batch(1, 9, complex), 20_000, axis=0)
    found = hardscape.permanent(cupy.asarray(same), precision="double").get()
    assert len(np.unique(found)) == 1

"""Array intake: the one file that knows NumPy, CuPy, torch and scipy.sparse.

Foreign arrays are recognised by the protocols they speak, so none of their packages is imported here.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from hardscape.errors import DeviceError, InputError, needed


def is_sparse(value: Any) -> bool:
    """Tell whether `value` is a scipy.sparse (or look-alike) matrix or array."""
    return hasattr(value, "tocoo") and hasattr(value, "nnz")


def is_array(value: Any) -> bool:
    """Tell whether `value` is a dense array of any supported package."""
    return hasattr(value, "__array__") or hasattr(value, "__dlpack__")


def is_graph(value: Any) -> bool:
    """Tell whether `value` is a networkx (or look-alike) graph."""
    return hasattr(value, "adjacency") and hasattr(value, "is_directed")


def biadjacency(graph: Any, name: str) -> NDArray[Any]:
    """Rows against columns of a bipartite graph: weights of the edges, 1 by default, parallel ones added.

    The rows are the nodes of the side that the attribute ``bipartite`` calls 0, or, where it is missing,
    that of the first node of each component. A smaller side is filled up with zeros: what counts perfect
    matchings must come to 0 then.
    """
    if graph.is_directed():
        raise InputError(f"{name} is a directed graph; undirected bipartite ones are accepted")
    side: dict[Any, int] = {
        node: x["bipartite"] for node, x in graph.nodes.items() if "bipartite" in x
    }
    if len(side) < len(graph):
        side = _coloured(graph)
    places: list[dict[Any, int]] = [{}, {}]
    for node in graph:
        mine = places[int(bool(side[node]))]
        mine[node] = len(mine)
    rows, columns = places
    n = max(len(rows), len(columns))
    found = np.zeros((n, n), dtype=object)
    for u, v, weight in graph.edges(data="weight", default=1):
        if (u in rows) == (v in rows):
            raise InputError(
                f"{name} is no bipartite graph: {u!r} and {v!r} are joined (perfect matchings of other "
                "graphs are hafnians, not permanents)"
            )
        row, column = (u, v) if u in rows else (v, u)
        found[rows[row], columns[column]] += weight
    return found


def _coloured(graph: Any) -> dict[Any, int]:
    """Nodes by the parity of their distance from the first one of their component."""
    side: dict[Any, int] = {}
    for first in graph:
        reached = [] if first in side else [first]
        side.setdefault(first, 0)
        for node in reached:
            for other in graph.adj[node]:
                if other not in side:
                    side[other] = 1 - side[node]
                    reached.append(other)
    return side


def array_namespace(value: Any) -> Any:
    """Return the module whose functions take `value`: CuPy for its arrays, else NumPy."""
    if hasattr(value, "__cuda_array_interface__") and hasattr(value, "get"):
        import cupy

        return cupy
    return np


def current(value: Any) -> AbstractContextManager[Any]:
    """Make the GPU of a CuPy array the current one; nothing for NumPy's."""
    gpu: AbstractContextManager[Any] = (
        nullcontext() if array_namespace(value) is np else value.device
    )
    return gpu


@dataclass(frozen=True)
class Home:
    """Where an array lives, so that what is made of it can be brought there."""

    package: Literal["numpy", "cupy", "torch", "standard"] = "numpy"
    device: Any = None  # number of the GPU of a CuPy array, device of others
    namespace: Any = None  # functions of a package that follows the array API standard

    def bring(self, array: NDArray[Any]) -> Any:
        """An array of the same numbers as `array` in this package, on this device.

        Objects stay in NumPy: the other packages hold no Python numbers.
        """
        if self.package == "numpy" or array.dtype == object:
            return array
        if self.package == "torch":
            return sys.modules["torch"].from_numpy(array).to(self.device)
        if self.package == "standard":
            return self.namespace.asarray(array, device=self.device)
        import cupy

        with cupy.cuda.Device(self.device):
            return cupy.asarray(array)


def home_of(value: Any) -> Home:
    """Tell where `value` lives; NumPy is the home of what is no array of the array API standard."""
    if _is_torch(value):
        return Home("torch", value.device)
    if hasattr(value, "__cuda_array_interface__") or _is_on_cuda(value):
        return Home("cupy", gpu_array(value).device.id)
    if hasattr(value, "__array_namespace__") and not isinstance(value, np.ndarray):
        return Home("standard", value.device, value.__array_namespace__())
    return Home()


def is_recorded(value: Any) -> bool:
    """Tell whether torch is recording what is done to `value`, for a gradient."""
    return _is_torch(value) and bool(value.requires_grad) and sys.modules["torch"].is_grad_enabled()


def gpu_array(value: Any) -> Any:
    """The CuPy array that shares the memory of an array on a GPU; None for all that is elsewhere.

    It is ordered behind what its package is still doing to it, on CuPy's current stream.
    """
    if _is_torch(value):
        if value.device.type != "cuda":
            return None
        value = _settled(value)
    elif not (hasattr(value, "__cuda_array_interface__") or _is_on_cuda(value)):
        return None
    cupy = _cupy()
    if isinstance(value, cupy.ndarray):
        return value
    return cupy.from_dlpack(value) if hasattr(value, "__dlpack__") else cupy.asarray(value)


def _cupy() -> Any:
    return needed("cupy", "cupy", "cuda", "an array on a GPU")


def to_device(value: Any, device: str) -> Any:
    """Bring a NumPy or CuPy array to "cpu" (NumPy) or "cuda" (CuPy, its current device)."""
    if device not in ("cpu", "cuda"):
        raise InputError(f"device={device!r}; 'cpu' and 'cuda' are accepted for arrays")
    if device == "cpu":
        return _on_host(value)
    if array_namespace(value) is not np:
        return value
    cupy = _cupy()
    try:
        return cupy.asarray(value)
    except cupy.cuda.runtime.CUDARuntimeError as error:
        raise DeviceError(f"device='cuda' cannot be used: {error}") from None


def to_numpy(value: Any, name: str = "array") -> NDArray[Any]:
    """Bring a NumPy, CuPy or torch array, or nested sequences, of real numbers to NumPy's on the host."""
    try:
        array = np.asarray(_on_host(value))
    except ValueError as error:
        raise InputError(f"{name} is not a rectangular array: {error}") from None
    _refuse_masked(value, name)
    if array.dtype.kind not in "biuf" and not (array.dtype.kind == "O" and array.size == 0):
        raise InputError(
            f"{name} has dtype {array.dtype}; real numbers (bool, integer or floating) are accepted"
        )
    return array


def as_number_array(value: Any, name: str = "array") -> NDArray[Any]:
    """Bring `value` to a NumPy array on the host that holds what `value` holds, nothing rounded.

    Nested sequences become an object array of the very numbers in them, because NumPy turns a
    list of large and small integers into floating-point numbers. Object arrays stay as they are;
    their members are for the caller to check.
    """
    try:
        value = _on_host(value)
        array = np.asarray(value) if is_array(value) else np.array(value, dtype=object)
    except (ValueError, TypeError, RuntimeError, BufferError) as error:
        raise InputError(f"{name} is not a rectangular array of numbers: {error}") from None
    _refuse_masked(value, name)
    if array.dtype == object:
        for position, member in np.ndenumerate(array):
            if isinstance(member, list | tuple):
                raise InputError(
                    f"{name}{list(position)} is a {type(member).__name__}: rows of one length are accepted"
                )
    if array.dtype.kind not in "biufcO":
        raise InputError(
            f"{name} has dtype {array.dtype}; bool, integer, floating, complex and object arrays "
            "of Python numbers are accepted"
        )
    return array


def _refuse_masked(value: Any, name: str) -> None:
    if hasattr(value, "mask") and np.ma.is_masked(value):  # numpy.ma takes long to import
        raise InputError(f"{name} has masked entries; arrays without masked entries are accepted")


def _on_host(value: Any) -> Any:
    if _is_torch(value):
        return _settled(value).cpu().numpy()
    if hasattr(value, "__cuda_array_interface__") or _is_on_cuda(value):
        return gpu_array(value).get()
    if hasattr(value, "__dlpack__") and not hasattr(value, "__array__"):
        return np.from_dlpack(value)
    return value


#: DLPack's number of CUDA devices.
_DLPACK_CUDA = 2


def _is_on_cuda(value: Any) -> bool:
    where = getattr(value, "__dlpack_device__", None)
    return where is not None and int(where()[0]) == _DLPACK_CUDA


def _is_torch(value: Any) -> bool:
    torch = sys.modules.get("torch")  # where it was never imported, nobody has a tensor
    return torch is not None and isinstance(value, torch.Tensor)


def _settled(tensor: Any) -> Any:
    """A torch tensor as other packages can express it: dense, without pending operations."""
    tensor = tensor.detach()
    if str(tensor.layout) != "torch.strided":
        tensor = tensor.to_dense()
    if str(tensor.dtype) == "torch.bfloat16":
        tensor = tensor.float()
    return tensor.resolve_conj().resolve_neg()


def as_float64(value: Any, name: str) -> NDArray[np.float64]:
    """Bring `value` to finite float64, refusing what float64 cannot hold exactly."""
    array = to_numpy(value, name)
    with np.errstate(over="ignore"):
        result = np.asarray(array, dtype=np.float64)
    if not np.isfinite(result).all():
        position = tuple(int(i) for i in np.argwhere(~np.isfinite(result))[0])
        raise InputError(
            f"{name}{list(position)} is {result[position]}; finite values are accepted"
        )
    if array.dtype.itemsize >= 8 and array.dtype != np.float64:
        _check_exact(array, result, name)
    elif not hasattr(value, "dtype") and result.size and np.abs(result).max() >= 2.0**53:
        # Sequences of floats and integers became float64 before this function saw them.
        _check_exact(np.array(value, dtype=object), result, name)
    return result


def _check_exact(given: NDArray[Any], result: NDArray[np.float64], name: str) -> None:
    wrong = np.argwhere(given.astype(object) != result.astype(object))
    if len(wrong):
        position = tuple(int(i) for i in wrong[0])
        raise InputError(
            f"{name}{list(position)} is {given[position]}, which float64 cannot hold exactly"
        )


def sparse_entries(
    value: Any, name: str, read: Callable[[Any, str], NDArray[Any]] = as_float64
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[Any], tuple[int, int]]:
    """Entries (row, column, value) and shape of a sparse matrix, repeated entries kept."""
    coo = value.tocoo()
    if hasattr(coo, "get") and not hasattr(coo, "getnnz"):  # of a GPU
        coo = coo.get()
    data = read(coo.data, name)
    row = np.asarray(to_numpy(coo.row, name), dtype=np.int64)
    col = np.asarray(to_numpy(coo.col, name), dtype=np.int64)
    return row, col, data, (int(coo.shape[0]), int(coo.shape[1]))


def as_spins(states: Any, num_spins: int) -> NDArray[np.int8]:
    """Bring states of shape (..., num_spins) and entries -1 and +1 to int8."""
    array = to_numpy(states, "states")
    if array.ndim == 0 or array.shape[-1] != num_spins:
        raise InputError(
            f"states have shape {array.shape}; the last axis must hold the {num_spins} spins"
        )
    if array.size and not np.isin(array, (-1, 1)).all():
        bad = array[~np.isin(array, (-1, 1))].flat[0]
        raise InputError(f"states hold {bad}; spins are -1 or +1")
    return np.ascontiguousarray(array, dtype=np.int8)

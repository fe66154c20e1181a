from typing import Annotated

import numpy
from numpy.typing import NDArray

class Halves:
    def run(self, first: int, last: int, wanted: int, far: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, stop: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> tuple[NDArray[numpy.uint64], NDArray[numpy.uint64], bool, float]: ...

def halves(rises: Annotated[NDArray[numpy.uint64], dict(shape=(None, None), order='C', device='cpu', writable=False)], least: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu', writable=False)], words: int, slices: int) -> Halves: ...

def persistent(fields: Annotated[NDArray[numpy.uint64], dict(shape=(None, None), order='C', device='cpu', writable=False)], row: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], col: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], couplings: Annotated[NDArray[numpy.uint64], dict(shape=(None, None), order='C', device='cpu', writable=False)], looks: int) -> NDArray[numpy.int8]: ...

"""CUDA: what the driver says, kernels as data, their compilation, and GPUs that run them.

Nothing of CUDA's packages is imported before a GPU, or the run-time compiler, is first used.
"""

from hardscape.engine.cuda.gpu import CudaDevice, LoadedKernel, cuda_device
from hardscape.engine.cuda.jit import Kernel
from hardscape.engine.cuda.loader import kernel

__all__ = ["CudaDevice", "Kernel", "LoadedKernel", "cuda_device", "kernel"]

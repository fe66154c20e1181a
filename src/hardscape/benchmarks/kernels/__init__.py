"""Each kernel of a family alone, on CPU and CUDA.

``python -m hardscape.benchmarks.kernels FAMILY``.
"""

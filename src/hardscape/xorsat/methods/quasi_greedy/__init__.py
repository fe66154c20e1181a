"""The quasi-greedy dynamics of many clones, on CPU and CUDA."""

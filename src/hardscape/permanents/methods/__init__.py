"""The ways to sum a block, a folder each: method, cost, CPU and CUDA side. :mod:`.table` lists them."""

"""A folder for each method: its Python side, its kernels and its cost.

`exhaustive.work` says what a method of :func:`hardscape.spectrum` is, `counting` the same for the density
of states; the tables of methods are in `hardscape.ising.spectrum` and `hardscape.ising.density`.
"""

"""The Faddeev-Popov operator of Landau gauge and its inverse, the ghost propagator."""

"""Which half of a GPU a multiprocessor is near to."""

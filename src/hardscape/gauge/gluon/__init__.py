"""The gluon field of links, and its propagator."""

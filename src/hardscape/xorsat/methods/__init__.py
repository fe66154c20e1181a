"""The ways to an answer: a folder each, and the table of `hardscape.xorsat.solve`."""

"""The exhaustive search under a tree of exact lower bounds."""

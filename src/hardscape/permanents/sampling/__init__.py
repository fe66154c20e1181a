"""Boson sampling: outputs drawn from permanents that are never all found."""

"""Glynn's formula in double-double arithmetic."""

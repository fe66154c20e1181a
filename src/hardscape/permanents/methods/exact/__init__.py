"""Glynn's formula in integers."""

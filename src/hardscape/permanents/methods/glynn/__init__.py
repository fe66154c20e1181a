"""Glynn's formula in double precision."""

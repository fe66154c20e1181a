"""Clause-weighting walks by the thousand."""

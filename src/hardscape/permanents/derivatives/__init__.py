"""Derivatives of permanents by all entries."""

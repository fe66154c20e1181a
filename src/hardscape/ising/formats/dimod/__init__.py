"""Formats of dimod, and of others that it reads."""

"""Benchmarks of permanents and boson sampling."""

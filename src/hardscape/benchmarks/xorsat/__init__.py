"""Benchmarks of XORSAT."""

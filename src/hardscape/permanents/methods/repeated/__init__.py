"""Glynn's formula over multiplicities of repeated lines."""

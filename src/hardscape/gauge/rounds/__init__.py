"""Rounds of sweeps whose end a GPU sees by itself."""

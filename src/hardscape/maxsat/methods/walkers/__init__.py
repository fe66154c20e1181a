"""Walkers: each lets searches have turns, and the engine lets walkers go side by side."""

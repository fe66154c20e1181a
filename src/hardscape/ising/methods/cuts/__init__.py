"""Odd-cycle cuts: linear relaxations of sparse models, and what they leave open."""

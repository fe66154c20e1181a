"""The search by cores of unit propagation, and what it begins with."""

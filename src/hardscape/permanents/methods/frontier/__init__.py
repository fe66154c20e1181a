"""The frontier dynamic program of sparse matrices."""

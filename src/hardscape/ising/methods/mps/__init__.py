"""Low-energy states from a matrix product state, without a certificate."""

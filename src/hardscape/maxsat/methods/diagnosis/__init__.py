"""The cheapest faults of a circuit."""

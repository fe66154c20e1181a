"""The methods of gauge fixing."""

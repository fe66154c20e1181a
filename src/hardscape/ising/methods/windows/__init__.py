"""Low states of sparse models by the exact states of their windows."""

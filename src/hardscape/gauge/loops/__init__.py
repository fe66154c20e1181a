"""What is measured on links without a propagator: loops, smeared or not, and the static potential."""

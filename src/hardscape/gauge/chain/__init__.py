"""The Markov chain of the Wilson action on GPUs."""

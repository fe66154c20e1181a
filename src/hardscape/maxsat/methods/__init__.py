"""Ways to search, a folder each."""

"""What the search is measured against: times to solution, their statistics, and theory."""

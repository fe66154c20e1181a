"""Numbers: with bounds of their errors, floating entries that were rounded, integers of any size."""

"""What a matrix gives away before anything is summed: zeros, short and repeated lines, powers of two."""

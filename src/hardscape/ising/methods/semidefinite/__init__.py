"""Branch and bound under semidefinite bounds."""

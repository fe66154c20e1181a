"""Number partitioning and its kin, by meeting in the middle."""

"""Many configurations at once: one shard a file, one table of all, with errors."""

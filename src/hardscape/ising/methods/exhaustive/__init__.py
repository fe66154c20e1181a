"""Every block of states, filtered in 16-bit integers: on CPU threads and GPUs."""

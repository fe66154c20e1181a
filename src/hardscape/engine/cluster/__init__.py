"""Shards on executors: pools of processes, Dask, MPI; on this host, or on many."""

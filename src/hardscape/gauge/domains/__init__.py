"""One lattice over several processes: slabs of timeslices, one a rank of MPI."""

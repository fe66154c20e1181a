"""The signals that stop a computation, for code that imports nothing else."""

import signal

#: Ctrl-C, and what comes before a kill: of batch systems, limits of CPU time, connections that are gone.
STOPS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGXCPU)

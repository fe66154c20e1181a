"""How long things take: what a call would, by trying it, and how fast this machine is."""

r"""The cellular genetic algorithm with hill climbing of Munawar, Wahib, Munetomo and Akama.

A population of sub-populations, each a torus of individuals, on a torus of sub-populations. In every
generation each individual

1. draws two of its four neighbours and takes the better one as second parent. With probability
   `diffusion`, decided once for the whole generation, the sub-populations join to one torus, so that
   individuals at their borders meet those next door;
2. takes over each bit of the second parent with probability `recombination`, then turns each bit with
   probability `mutation`;
3. climbs: the variables are visited in order, again and again, for a fixed number of passes, and each
   flip that satisfies more is kept;
4. replaces its first parent where it is better.

If more than `feedback` of the individuals still improved in the last pass, the number of passes
rises by `step`, else it falls by as much. The run ends when everything is satisfied or after
`patience` generations in which the best one did not improve.

A. Munawar, M. Wahib, M. Munetomo, K. Akama, Genetic Programming and Evolvable Machines 10, 391
(2009).
"""

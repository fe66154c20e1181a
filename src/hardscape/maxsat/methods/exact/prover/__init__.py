"""A process that proves and improves beside a search, or in turns with it.

It takes turns at two things until they meet: cores of soft clauses that cannot all hold, which raise the lower
bound (OLL: Andres, Kaufmann, Matheis, Schaub, ICLP 2012; with the refinements of RC2: Ignatiev, Morgado,
Marques-Silva, JSAT 11, 53, 2019), and a search for assignments that cost less than the best one, which a
constraint on what the cores have left demands (core-boosted linear search: Berg, Demirovic, Stuckey, CPAIOR
2019), its weights coarse at first.

It lives apart because a call of a SAT solver can neither be interrupted at once nor share the interpreter,
and imports nothing of hardscape but its compiled parts, so that it begins at once: ``python -c "from
prover.main import main; main()" FD N C PID``. The file descriptor FD is the formula: a line of JSON with its
sizes, then its arrays. Standard input takes lines ``{"cost": 3, "model": "0110"}`` whenever others find a
better assignment. Standard output gives the like, ``{"lower": 2}`` whenever the lower bound rises, ``{"ready":
true}`` when from now on the process may be stopped, and at the end ``{"settled": true}``: no assignment is
better than the best one said or heard, and without any, the hard clauses contradict one another. The process
ends with its parent PID.
Of several, each number N but 0 has an order and a solver of its own, and odd ones look for cores alone; with
N = -1 the first assignment ends the process. With C = 1 a second solver, CaDiCaL, must refute whatever the
first one refutes. With -1 for FD
the process lives on between calls: a line of standard input says what is new (see `Session.call`), ``{"stop":
true}`` ends a call, and ``{"idle": true}`` confirms that.
"""

r"""Files of Ising models and QUBOs: reading, writing and telling the formats apart.

Each format is a module here, which `hardscape.formats` finds; :data:`FORMATS` lists them. A further suffix
.gz, .xz or .bz2 stands for compression, and the path ``-`` for standard input or output. Text may hold
blank lines, and comments of any encoding that start with ``#``, ``%`` or ``c``. Numbers are decimal:
integers are held to their last digit, others are read as the nearest float64. From there on
nothing is rounded: QUBOs become Ising models exactly (s = 2 q - 1), and a writer refuses a model that its
format cannot hold exactly.

coo
    :math:`E = \sum_{i<j} J_{ij} s_i s_j + \sum_i h_i s_i + c`, or with ``convention="ising"``
    minus the sums. Repeated and mirrored entries are summed. Indices count from 0 if an index is 0,
    else from 1, and the largest gives the number of spins. A comment
    ``# hardscape num_spins=N offset=c base=0 convention=dimod`` (each word optional) states
    what the entries leave open; the writer puts it first. A comment ``# vartype=SPIN`` or
    ``# vartype=BINARY``, which dimod's writer puts first, means counting from 0, and for BINARY
    that the entries are a QUBO's. In a file ``.qh``, Qubist's line ``sites lines`` may come first.
biqmac
    ``n m``, then m lines ``i j q`` counted from 1. Q[i, j] and Q[j, i] are given once and both
    count, so that a pair contributes :math:`2 q_{ij}` (Biq Mac Library, Wiegele 2007).
mqlib
    The same text in a file ``.qubo``, maximised: :math:`E = -x^T Q x` (MQLib; I. Dunning, S. Gupta,
    J. Silberholz, INFORMS J. Comput. 30 (2018) 608). Its max-cut files are rudy's.
rudy
    ``n m``, then m lines ``i j weight`` counted from 1, the weight 1 if left out. With
    :math:`E = \sum_{ij} w_{ij} (s_i s_j - 1)/2` the ground energy is minus the maximum cut.
qubo
    ``p qubo topology maxNodes nNodes nCouplers``, then nNodes lines ``i i value`` and nCouplers
    lines ``i j value`` with i < j, counted from 0. A comment ``c hardscape offset=x`` keeps
    a constant; with the comments ``c offset : x`` and ``c scale : a`` of bqpjson the energy is a (sum + x).
hercules
    ``n``, then lines ``i value`` of c and ``i j value`` of Q, counted from 0:
    :math:`x^T Q x / 2 + c^T x`.
orlib
    ``k``, then k times ``n m`` and m lines ``i j q`` counted from 1 (bqp50.txt and so on of J. E. Beasley's
    OR-Library). They are maximised there, so that :math:`E = -x^T Q x`, Q symmetric: a pair counts twice.
    ``problem=`` says which of several, from 1 on.
qplib
    Programs of binary variables without constraints (types QBN, QBB), maximised ones with the sign changed.
lp
    The same in the LP format, by dimod; names are labels.
bqpjson, qubin
    ``scale (sum of terms + offset)`` of bqpjson, and of QUBOTools and QUBOLib in HDF5; the variables' numbers
    are labels.
bqm
    What dimod's ``BinaryQuadraticModel.to_file`` writes, of versions 1 and 2; labels are kept.
bqm-json
    Labels are kept. Vectors are lists, or with ``use_bytes`` base64 text.
csv
    A square matrix, one row a line, between commas, semicolons or blanks, that
    :meth:`hardscape.ising.Ising.from_matrix` takes, of either ``convention``; ``numpy.savetxt`` writes such.
mat
    One matrix, dense or sparse, as ``save('J.mat', 'J')`` of MATLAB writes it, that
    :meth:`hardscape.ising.Ising.from_matrix` takes, of either ``convention``.
npz
    Labels are kept; a file ``.npy`` is one matrix. See :mod:`hardscape.ising.formats.npz`.

The text formats number the spins 0 to N-1 and drop labels. ``n m`` and triples without a
suffix that tells are a graph of rudy's, or biqmac's where an entry is on the diagonal. Files with more than
`MAX_SPINS` spins or `MAX_BYTES` decompressed bytes are refused.
"""

from __future__ import annotations

from hardscape.formats import Formats
from hardscape.ising.formats.text import MAX_SPINS
from hardscape.ising.model import Ising

__all__ = ["FORMATS", "MAX_SPINS", "detect", "read", "write"]

#: The modules of formats by name.
FORMATS: Formats[Ising] = Formats(__name__)

read, write, detect = Ising.from_file, Ising.to_file, FORMATS.detect

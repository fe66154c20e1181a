"""Measurements, ours and the peers', on the machine at hand.

``python -m hardscape.benchmarks`` lists them.

Each module prints a table; those that take ``--save FOLDER`` keep it there as data, of which
``hardscape.benchmarks.tables`` makes the documents' tables. Peers are separate packages, and a row says so
where one is missing. No family imports this.
"""

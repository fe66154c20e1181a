"""The exact search: RC2 of python-sat."""

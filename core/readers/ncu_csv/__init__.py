"""Reads what ``ncu --csv`` prints, of 2020 to 2026: ``--page raw`` (wide) and ``--page details`` (long).

``text`` unpacks and decodes the file, ``records`` finds the tables in it among
other output, ``numbers`` settles how its numbers are written, ``labels`` knows
the metrics behind the details page's labels, ``rows`` turns records into
columns, and ``reader`` makes a ``Report`` of them.
"""

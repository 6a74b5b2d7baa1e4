"""Chrome/Kineto JSON as torch.profiler and its relatives write it.

``container`` unpacks the file and finds its parts, ``scan`` reads the events of
a chunk with compiled code, ``repair`` reads single events that the scan gave
up, ``assemble`` makes the tables of ``core.tables.trace``, ``reader`` is the way in.
"""

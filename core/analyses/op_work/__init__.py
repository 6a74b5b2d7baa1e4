"""What an operator has to do at least, from its name and what it was given: operations and bytes.

Nothing here knows a trace: a call is its name, the shapes and types of its
inputs, its other arguments as text and, where a shape does not say it, the name
of the kernel that it launched. ``models`` is the way in; the formulas stand in
one module a family.

Operations of matrix products, convolutions and attention are counted as torch's
``FlopCounterMode`` counts them. Bytes are the least: each input read once, each
output written once, nothing kept in a cache from before.
"""

"""Which source lines a kernel spends its time on: the line table of its binary, and sums by line."""

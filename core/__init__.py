"""Everything that is true without a window.

No module in here imports Qt, and none imports torch: work that needs torch
runs in a child process under the interpreter that the user chose.
"""

"""Reads Nsight Compute reports (``.ncu-rep``, ``.ncu-repz``) of 2020 to 2026 without any tool of the vendor.

``container`` unpacks the file and walks its blocks, ``schema`` knows its
messages, ``reader`` makes a ``Report`` of them. What is large is left packed
and decoded by ``details`` when it is asked for.
"""

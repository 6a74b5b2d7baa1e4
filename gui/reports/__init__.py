"""Opened reports without widgets: documents, what they are asked, baselines, the list of kernels."""

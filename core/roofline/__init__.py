"""Rooflines and verdicts: what reports measured and traces suggest, against what a device can do."""

"""Analyses: pure functions from tables to tables, one file each."""

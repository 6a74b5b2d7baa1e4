"""Frozen columnar tables: what readers return and analyses take. Data types only, no reading, no analysis."""

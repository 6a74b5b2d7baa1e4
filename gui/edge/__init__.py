"""Runs on edge devices without widgets: what is known of devices and results, and what is running."""

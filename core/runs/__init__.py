"""The run folder on disk: its manifest, the store of all runs, and the live view of one."""

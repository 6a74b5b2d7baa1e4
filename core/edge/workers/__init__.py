"""What runs in a process of its own: a module a backend, each with ``run(job, tell)``."""

"""From a job spec to supervised processes: command, preflight, supervisor, client."""

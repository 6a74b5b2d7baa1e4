"""A user's own top-level package that happens to be called ``core``."""

OWNER = "the user"

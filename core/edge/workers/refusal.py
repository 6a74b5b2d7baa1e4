"""What a worker raises where it cannot go on and can say why."""

from __future__ import annotations


class RefusedError(Exception):
    """Becomes the event ``Refused``.

    Attributes:
        code: For programs.
        message: What happened, for people.
        hint: What to do.
    """

    def __init__(self, code: str, message: str, hint: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.hint = hint

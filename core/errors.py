"""The error types for things that can be expected to go wrong.

Holds no recovery code: the command line prints these errors, the window shows
them on the page they belong to.
"""

from __future__ import annotations


class DashboardError(Exception):
    """Something outside the program is not as needed.

    Attributes:
        message: What happened, with figures, in one plain sentence.
        hint: What the user can do about it, in one plain sentence.
    """

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __reduce__(self) -> tuple[type[DashboardError], tuple[str, str]]:
        return (type(self), (self.message, self.hint))


class FieldError(DashboardError):
    """One field of a job's description is not as needed.

    Attributes:
        field: What it is about, so that a form can mark it: "interpreter", "target",
            "arguments", "working_folder", "environment", "ranks" (and the device they
            run on), "gpus", "preset", "profile_ranks" or "loss_rule".
    """

    def __init__(self, field: str, message: str, hint: str) -> None:
        super().__init__(message, hint)
        self.field = field

    def __reduce__(self) -> tuple[type[FieldError], tuple[str, str, str]]:  # type: ignore[override]  # one argument more than its base
        return (type(self), (self.field, self.message, self.hint))

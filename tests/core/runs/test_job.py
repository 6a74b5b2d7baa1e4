"""What the arguments of a job say of it."""

from __future__ import annotations

from core.runs.job import flag_values


def test_flags_are_read_in_both_forms_and_the_last_one_counts() -> None:
    assert flag_values(("--a", "1", "--b", "--a=2")) == {"a": "2"}
    assert flag_values(("--steps", "200", "--lr", "-1", "words", "--steps=50")) == {"steps": "50", "lr": "-1"}

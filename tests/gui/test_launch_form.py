"""The form: from what is typed to the exact job, with what is wrong said in place."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from PySide6.QtCore import QLocale, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest

from core.errors import DashboardError, FieldError
from core.launch.presets import choose_preset
from core.runs.job import CapturePlan
from gui.models.job_draft import (
    JobDraft,
    command_text,
    draft_for_script,
    from_json,
    interpreters_near,
    split_arguments,
    to_json,
    to_spec,
)
from gui.widgets.launch_form import LaunchForm, summary_of

if TYPE_CHECKING:
    from pathlib import Path

    from pytestqt.qtbot import QtBot

    from gui.theme import ThemeController

PYTHON = "/opt/env/bin/python"


def draft(**changes: object) -> JobDraft:
    values: dict[str, object] = {"kind": "script", "target": "/home/a/train.py", "interpreter": PYTHON}
    return JobDraft(**{**values, **changes})  # type: ignore[arg-type]  # test data


@pytest.fixture
def form(qtbot: QtBot, theme: ThemeController) -> LaunchForm:
    form = LaunchForm(theme)
    qtbot.addWidget(form)
    form.resize(900, 700)
    form.show()
    return form


def test_arguments_are_split_without_a_shell() -> None:
    assert split_arguments("--a 'b c' \"$HOME\" ; rm *", "shell") == ("--a", "b c", "$HOME", ";", "rm", "*")
    assert split_arguments("--a b\n  c d \n\n$x", "lines") == ("--a b", "  c d ", "$x")
    with pytest.raises(FieldError, match="no closing quotation") as error:
        split_arguments("--name 'x", "shell")
    assert error.value.field == "arguments"


def test_a_script_becomes_a_job_in_its_own_folder() -> None:
    spec = to_spec(draft(arguments="--lr 1e-3", ranks=2, environment=(("A", "1"), ("", "x"))))
    assert (spec.title, spec.target, spec.is_module) == ("train.py", "/home/a/train.py", False)
    assert spec.working_folder == "/home/a"
    assert spec.arguments == ("--lr", "1e-3")
    assert spec.environment == {"A": "1"}
    assert spec.gpus is None


def test_a_module_and_its_gpus() -> None:
    spec = to_spec(
        draft(kind="module", target=" pkg.train ", device="cuda", gpus="2, 0;GPU-1a", working_folder="/w")
    )
    assert (spec.target, spec.is_module, spec.gpus, spec.working_folder) == (
        "pkg.train",
        True,
        ("2", "0", "GPU-1a"),
        "/w",
    )


def test_a_preset_takes_more_arguments() -> None:
    spec = to_spec(JobDraft(interpreter=PYTHON, preset="tiny", ranks=3, arguments="--steps 50"))
    assert spec.preset == "tiny"
    assert spec.ranks == 3
    assert spec.arguments[-2:] == ("--steps", "50")


@pytest.mark.parametrize(
    ("field", "changes"),
    [
        ("interpreter", {"interpreter": " "}),
        ("target", {"target": ""}),
        ("target", {"kind": "module", "target": "my-train.py"}),
        ("environment", {"environment": (("1A", "x"),)}),
        ("profile_ranks", {"profile": True, "profile_ranks": "0, 9"}),
        ("loss_rule", {"loss_rule": "loss ("}),
        ("loss_rule", {"loss_rule": "loss [0-9]+"}),
        ("ranks", {"ranks": 0}),
    ],
)
def test_a_field_that_cannot_be_understood_is_named(field: str, changes: dict[str, object]) -> None:
    with pytest.raises(FieldError) as error:
        to_spec(draft(**changes))
    assert error.value.field == field
    assert error.value.hint


def test_a_capture_and_a_loss_rule() -> None:
    spec = to_spec(
        draft(profile=True, first_step=0, profile_ranks="2 0", ranks=4, loss_rule="my_loss: ([0-9.]+)")
    )
    assert spec.profile == CapturePlan(first_step=None, steps=2, ranks=(0, 2))
    assert spec.loss_pattern == "my_loss: ([0-9.]+)"


def test_the_command_is_exact_and_can_be_pasted() -> None:
    spec = to_spec(draft(arguments="--name 'a b; c'", environment=(("X", "y z"),), ranks=2))
    text = command_text(spec, "2.13.0", "3.11.7")
    assert "--nproc-per-node=2" in text
    assert "'a b; c'" in text
    assert "X='y z'" in text
    assert f"{PYTHON} -P -m torch.distributed.run" in text
    assert "CUDA_VISIBLE_DEVICES=''" in text


def test_a_draft_is_kept_without_secrets_and_garbage_is_none() -> None:
    kept = draft(environment=(("HF_TOKEN", "abc"), ("A", "1")), gpus="0", first_step=7)
    again = from_json(to_json(kept))
    assert again is not None
    assert again.environment == (("HF_TOKEN", ""), ("A", "1"))
    assert (again.target, again.first_step) == ("/home/a/train.py", 7)
    assert from_json("{") is None
    assert from_json(None) is None
    assert from_json('{"kind": "rocket"}') is None
    assert from_json('{"ranks": "many", "environment": [1, ["a"]]}') == JobDraft()


def test_launch_asks_for_the_job_of_the_fields(form: LaunchForm, qtbot: QtBot) -> None:
    form.set_interpreters([PYTHON])
    form.set_choice(choose_preset([], PYTHON))
    with qtbot.waitSignal(form.launch_asked) as asked:
        QTest.mouseClick(form.launch_button, Qt.MouseButton.LeftButton)
    spec = asked.args[0]
    assert (spec.preset, spec.ranks, spec.device, spec.interpreter) == ("tiny", 4, "cpu", PYTHON)
    assert summary_of(spec) == "tiny on 4 ranks, CPU"


def test_an_own_script_is_asked_for_in_place_of_a_preset(form: LaunchForm) -> None:
    form.set_interpreters([PYTHON])
    form.set_choice(choose_preset([], PYTHON))
    form.leave_preset()
    assert form.draft().kind == "script"
    module = draft(kind="module", target="pkg.train")
    form.set_draft(module)
    form.leave_preset()
    assert (form.draft().kind, form.draft().target) == ("module", "pkg.train")


def test_what_is_typed_is_not_overwritten_by_a_late_answer(form: LaunchForm) -> None:
    form.set_draft(draft(ranks=3))
    form.set_choice(choose_preset([], PYTHON))
    assert form.draft().kind == "script"
    assert form.draft().ranks == 3
    form.set_draft(JobDraft(interpreter=PYTHON, ranks=2))
    form.edited_by_user = True
    form.set_choice(choose_preset([], PYTHON))
    assert form.draft().ranks == 2


def test_problems_stand_at_their_field_or_above_the_button(form: LaunchForm) -> None:
    form.set_draft(draft(target=""))
    form.ask_to_launch()
    assert form.problem_of("script") == "No script is chosen. Name the script that trains."
    assert form.problems.keys == []
    QTest.keyClicks(form.script.edit, "/home/a/x.py")
    assert form.problem_of("script") == ""
    form.show_error(DashboardError("The disk is full.", "Free some space."))
    assert form.problems.keys == ["launch"]
    form.ranks.setValue(2)
    assert form.problems.keys == []


@pytest.mark.parametrize(
    ("field", "row"), [("interpreter", "interpreter"), ("target", "script"), ("ranks", "ranks")]
)
def test_what_the_check_finds_stands_at_the_field_it_is_about(form: LaunchForm, field: str, row: str) -> None:
    form.set_draft(draft())
    form.show_error(FieldError(field, "It is not as needed.", "Choose another."))
    assert form.problem_of(row) == "It is not as needed. Choose another."
    assert form.problems.keys == []


def test_a_problem_of_a_field_that_is_not_shown_stands_above_the_button(form: LaunchForm) -> None:
    form.set_draft(JobDraft(interpreter=PYTHON))
    form.show_error(FieldError("working_folder", "There is no folder x.", "Choose another."))
    assert form.problems.keys == ["launch"]
    form.show_error(FieldError("target", "The preset cannot run.", "Choose another."))
    assert form.problem_of("preset") == "The preset cannot run. Choose another."


def test_0_ranks_are_refused_at_the_field_and_not_turned_into_others(form: LaunchForm) -> None:
    form.set_draft(draft(ranks=4))
    form.ranks.setFocus()
    form.ranks.selectAll()
    QTest.keyClicks(form.ranks, "0")
    QTest.keyClick(form.ranks, Qt.Key.Key_Tab)
    assert form.ranks.value() == 0
    assert form.problem_of("ranks") == "A job of 0 ranks cannot run. Choose 1 to 4,096."
    form.ranks.setValue(2)
    assert form.problem_of("ranks") == ""


def test_a_launch_under_way_is_said_in_words(form: LaunchForm) -> None:
    form.set_draft(draft())
    form.set_blocked("a launch is being prepared", launching=True)
    assert form.launch_button.text() == "Launching"
    assert form.summary.startswith("Checking the interpreter")
    form.set_blocked("", launching=False)
    assert form.launch_button.text() == "Launch"
    assert form.summary == "train.py on 4 ranks, CPU"


def test_a_run_that_goes_on_is_named_beside_the_new_job(form: LaunchForm) -> None:
    form.set_run_shown("minillm", going_on=True)
    assert form.beside == "minillm goes on, whatever is launched here, and stays in Recent on Home."
    form.set_run_shown("minillm", going_on=False)
    assert form.beside == ""


def test_a_second_launch_is_refused_while_one_is_prepared(form: LaunchForm, qtbot: QtBot) -> None:
    """Case L23."""
    form.set_draft(draft())
    form.set_blocked("a launch is being prepared")
    with qtbot.assertNotEmitted(form.launch_asked):
        form.ask_to_launch()
        QTest.mouseClick(form.launch_button, Qt.MouseButton.LeftButton)
    assert form.launch_button.toolTip() == "A launch is being prepared"
    form.set_blocked("")
    assert form.launch_button.isEnabled()


def test_the_argument_list_is_shown_as_it_will_be(form: LaunchForm) -> None:
    form.set_draft(draft(arguments="--name 'a b' <b>c</b>"))
    assert form.argument_list.text() == "3 arguments: [--name]  [a b]  [<b>c</b>]"
    assert form.argument_list.textFormat() == Qt.TextFormat.PlainText
    form.arguments.setPlainText("--name 'a b")
    assert "cannot be split" in form.argument_list.text()
    assert not form.copy.isEnabled()


def test_the_command_is_copied(form: LaunchForm) -> None:
    form.set_draft(draft(arguments="--x 1"))
    form.set_versions(PYTHON, "2.13.0", "3.11.7")
    form.copy_command()
    text = QGuiApplication.clipboard().text()
    assert text == form.command.text()
    assert text.endswith("/home/a/train.py --x 1")
    assert "-P -m torch.distributed.run" in text


def test_another_script_empties_what_belonged_to_the_one_before() -> None:
    other = draft_for_script(draft(arguments="--x", working_folder="/w", ranks=2), "/b/other.py")
    assert (other.target, other.arguments, other.working_folder, other.ranks) == ("/b/other.py", "", "", 2)


def test_virtual_environments_beside_the_script_are_found(tmp_path: Path) -> None:
    script = tmp_path / "project" / "src" / "train.py"
    script.parent.mkdir(parents=True)
    python = tmp_path / "project" / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text("#!/bin/sh\n")
    assert interpreters_near(str(script)) == []
    python.chmod(0o755)
    assert interpreters_near(str(script)) == [str(python)]
    assert interpreters_near("train.py") == []


def test_fields_come_and_go_with_what_is_chosen(form: LaunchForm) -> None:
    form.set_draft(JobDraft(interpreter=PYTHON, device="cpu"))
    assert form.preset.isVisible()
    assert not form.script.isVisible()
    assert not form.gpus.isVisible()
    form.set_draft(draft(device="cuda", profile=True))
    assert form.script.isVisible()
    assert form.gpus.isVisible()
    assert form.profile_ranks.isVisible()
    form.environment.set_pairs((("A", "1"), ("B", "2")))
    assert form.draft().environment == (("A", "1"), ("B", "2"))


def test_numbers_are_the_same_under_a_comma_locale(form: LaunchForm) -> None:
    """Case G17: the fields do not follow the system's grouping of digits."""
    before = QLocale()
    QLocale.setDefault(QLocale("de_DE"))
    try:
        form.set_draft(draft(first_step=12_000, profile=True))
        assert form.first_step.text() == "12000"
    finally:
        QLocale.setDefault(before)

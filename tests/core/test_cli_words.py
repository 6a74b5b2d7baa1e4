"""Which words of ``launch`` are ours and which belong to the user's script."""

from __future__ import annotations

import os
import sys

import pytest

from core.cli import is_command_line
from core.cli.arguments import make_parser, split_launch
from core.cli.output import columns, writing
from core.errors import DashboardError


def test_words_behind_the_script_pass_untouched() -> None:
    words = split_launch("main.py", ["--nproc", "2", "train.py", "--nproc", "8", "-m", "--", "--preset=x"])
    assert words.options.nproc == 2
    assert (words.target, words.is_module) == ("train.py", False)
    assert words.arguments == ("--nproc", "8", "-m", "--", "--preset=x")


def test_module_and_its_arguments() -> None:
    words = split_launch("main.py", ["--device=cpu", "-m", "pkg.train", "--lr", "1e-3", "-m"])
    assert words.options.device == "cpu"
    assert (words.target, words.is_module) == ("pkg.train", True)
    assert words.arguments == ("--lr", "1e-3", "-m")


def test_preset_takes_our_options_on_both_sides_and_gives_the_rest_on() -> None:
    words = split_launch("main.py", ["--preset", "tiny", "--steps", "20", "--nproc", "4", "--device", "cpu"])
    assert (words.options.preset, words.options.nproc, words.options.device) == ("tiny", 4, "cpu")
    assert words.target is None
    assert words.arguments == ("--steps", "20")


def test_preset_with_separator_gives_everything_behind_it_on() -> None:
    words = split_launch("main.py", ["--preset", "tiny", "--nproc", "2", "--", "--nproc", "9"])
    assert words.options.nproc == 2
    assert words.arguments == ("--nproc", "9")


def test_script_whose_name_begins_with_a_dash_comes_behind_a_separator() -> None:
    words = split_launch("main.py", ["--nproc", "1", "--", "-odd.py", "-x"])
    assert (words.target, words.arguments) == ("-odd.py", ("-x",))


def test_nothing_named_is_the_one_click_choice() -> None:
    words = split_launch("main.py", ["--detach"])
    assert words.options.detach
    assert words.target is None
    assert words.options.preset is None


def test_variables_keep_equals_signs_and_odd_characters() -> None:
    words = split_launch("main.py", ["--env", "A=b=c $x;", "--env", "B=", "t.py"])
    assert words.options.env == [("A", "b=c $x;"), ("B", "")]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no device that is always full")
def test_a_long_output_that_finds_no_room_is_refused_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    with open("/dev/full", "w", encoding="utf-8") as full:
        monkeypatch.setattr(sys, "stdout", full)
        with (
            pytest.raises(DashboardError, match="The output cannot be written: No space left"),
            writing() as out,
        ):
            out.write("1,2,3\n" * 10_000)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--unknown", "train.py"], "There is no option --unknown."),
        (["--nproc", "0", "train.py"], "'0' is not a number from 1 on"),
        (["--nproc", "two", "train.py"], "'two' is not a number from 1 on"),
        (["--nproc"], "expected one argument"),
        (["--device", "tpu", "train.py"], "invalid choice: 'tpu'"),
        (["-m"], "-m needs the name of a module"),
        (["--env", "novalue", "train.py"], "'novalue' is not NAME=VALUE"),
    ],
)
def test_wrong_words_are_refused_with_a_way_out(arguments: list[str], said: str) -> None:
    with pytest.raises(DashboardError) as caught:
        split_launch("main.py", arguments)
    assert said in caught.value.message
    assert "main.py launch --help" in caught.value.hint


def test_ranks_are_a_list_of_numbers() -> None:
    parser = make_parser("main.py")
    assert parser.parse_args(["capture", "x", "--ranks", "0, 2"]).ranks == (0, 2)
    with pytest.raises(DashboardError, match="not a list of ranks"):
        parser.parse_args(["capture", "x", "--ranks", "0;2"])


@pytest.mark.parametrize("arguments", [["runs"], ["launch", "x.py"], ["--help"], ["--version"], ["lauch"]])
def test_command_line(arguments: list[str]) -> None:
    assert is_command_line(arguments)


@pytest.mark.parametrize("arguments", [[], ["trace.json"], ["./runs"], ["/a/b"], ["--render-pages", "out"]])
def test_window(arguments: list[str]) -> None:
    assert not is_command_line(arguments)


def test_columns_align_wide_characters() -> None:
    assert columns(["name", "n"], [["\u6f22\u5b57", "5"], ["ab", "10"]], "lr") == [
        "name   n",
        "\u6f22\u5b57   5",
        "ab    10",
    ]

"""Kernel names for people: what a demangled C++ name says, cut down to what tells kernels apart.

The full name stays the key everywhere; a short name is only shown. Any text is
allowed: names come from files that nobody checked. Everything here is linear in
the length of the name.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

SHOWN_LENGTH: Final = 120
"""Longest short name; what is cut is marked with an ellipsis."""

_LOOKED_AT: Final = 4096
"""Characters of a name that are looked at."""

NO_NAME: Final = "(no name)"
_ELLIPSIS: Final = "…"
_ANONYMOUS: Final = "(anonymous namespace)"
_SHOWN_COMPONENTS: Final = 3
_SHOWN_ARGUMENTS: Final = 5
_SHOWN_NESTED: Final = 3
_MANGLED_ARGUMENTS: Final = 2
_LENGTH_DIGITS: Final = 4
_MANGLED_ENDS: Final = {"L": "E", "S": "_", "T": "_"}
"""What ends a literal, a substitution and a template parameter of a mangled name."""

_CLOSERS: Final = {")": "(", "}": "{"}
_CLOSING: Final = ")}>"
_MARKS: Final = re.compile(r"[<>(){} ]")
_MARKS_AND_SEPARATORS: Final = re.compile(r"::|[,<>(){}]")
_SCOPED: Final = re.compile(r"[\w:~$.&*\[\] -]+")
_PLAIN_SCOPED: Final = re.compile(r"[\w:]+")
_INTEGER: Final = re.compile(r"(-?\d+)[uUlL]{0,3}")
_CAST: Final = re.compile(r"\([\w:() ]{0,200}?\)(?=-?\w)")
_TENSILE_SHAPE: Final = re.compile(r"(?:MT\d+x|MI\d+x)")
_TENSILE_FLAG: Final = frozenset({"Bias", "UserArgs", "SAV", "HAS", "HA", "AS", "SN"})

# Namespaces that say nothing about which kernel it is.
_QUIET_NAMESPACES: Final = frozenset({"at", "native", "c10", "cuda", "detail", "std", _ANONYMOUS})
# How a launcher passes pointers, offsets and lists: the same for all kernels of a family.
_QUIET_ARGUMENTS: Final = frozenset(
    {
        "array",
        "Array",
        "OffsetCalculator",
        "TrivialOffsetCalculator",
        "LoadWithCast",
        "LoadWithoutCast",
        "StoreWithCast",
        "StoreWithoutCast",
        "TensorListMetadata",
        "TensorListScalarListMetadata",
        "FusedOptimizerTensorListMetadata",
    }
)
# Wrappers around the functor that does the work, by the argument that holds it.
_WRAPPERS: Final = {"gpu_kernel_impl": 0, "gpu_kernel_impl_nocast": 0, "func_wrapper_t": -1}
_NESTED_LIMITS: Final = {"ReduceOp": 2}


@dataclass(frozen=True, slots=True)
class Signature:
    """The parts of a name.

    Attributes:
        is_code: Whether it reads as the name of a C++ function; the other parts are the whole text if not.
        name: Scoped name with its template arguments, without return type and parameters.
        path: The same without template arguments: ``at::native::reduce_kernel``.
    """

    is_code: bool
    name: str
    path: str


class _Brackets:
    """Which brackets are open; takes any text. An angle that never closes is closed by what is around it."""

    __slots__ = ("_rounds", "open")

    def __init__(self) -> None:
        self.open: list[str] = []
        self._rounds = {"(": 0, "{": 0}

    def take(self, text: str, i: int) -> None:
        """Takes one character into account."""
        mark = text[i]
        if mark == "<":
            self.open.append(mark)
        elif mark == ">":
            if self.open and self.open[-1] == "<" and text[i - 1] != "-":
                self.open.pop()
        elif mark in self._rounds:
            self.open.append(mark)
            self._rounds[mark] += 1
        elif mark in _CLOSERS and self._rounds[_CLOSERS[mark]]:
            while self._close_last() != _CLOSERS[mark]:
                pass

    def _close_last(self) -> str:
        last = self.open.pop()
        if last in self._rounds:
            self._rounds[last] -= 1
        return last


def _opens_parameters(text: str, i: int) -> bool:
    """Whether the bracket at ``i``, outside all others, begins the parameters of the function."""
    if i == 0 or text.startswith(_ANONYMOUS, i) or text.endswith("operator", 0, i):
        return False
    return text[i - 1].isalnum() or text[i - 1] in "_>)"


@dataclass(frozen=True, slots=True)
class _Scan:
    """What one pass over a name finds.

    Attributes:
        outside: Text outside all brackets, in pieces; a piece ends with each space.
        name_start: Where in the text what follows the last of those spaces begins.
        name_piece: The piece that begins there.
        end: Where the parameters begin, or the end of the text.
    """

    outside: list[str]
    name_start: int
    name_piece: int
    end: int


def _scan(text: str) -> _Scan | None:
    """Finds the parts of a name; None if a bracket closes that was never opened."""
    brackets = _Brackets()
    outside: list[str] = []
    name_start = outside_from = name_piece = 0
    for found in _MARKS.finditer(text):
        i, mark = found.start(), found.group()
        if brackets.open:
            brackets.take(text, i)
            outside_from = i + 1
            continue
        if mark in _CLOSING:
            return None
        outside.append(text[outside_from : i + (mark == " ")])
        outside_from = i
        if mark == " ":
            name_start = outside_from = i + 1
            name_piece = len(outside)
        elif mark == "(" and _opens_parameters(text, i):
            return _Scan(outside, name_start, name_piece, i)
        else:
            brackets.take(text, i)
    if not brackets.open:
        outside.append(text[outside_from:])
    return _Scan(outside, name_start, name_piece, len(text))


def split_name(text: str) -> Signature:
    """Takes a kernel's name apart, in one pass.

    Args:
        text: Full name as the profiler wrote it: demangled, mangled or of no language at all.
    """
    no_code = Signature(False, text, text)
    if text.startswith("_ZN"):
        path, arguments = _demangled(text)
        return Signature(True, f"{path}<{', '.join([*arguments, _ELLIPSIS])}>", path) if path else no_code
    scan = _scan(text)
    plain = "".join(scan.outside) if scan else ""
    if not scan or not _SCOPED.fullmatch(plain) or text[0] in "<({":
        return no_code
    if scan.end == len(text) and " " in plain and not text.startswith("void "):
        # Nothing says where a return type would end: "Memcpy HtoD (Pinned -> Device)".
        return no_code
    path = "".join(scan.outside[scan.name_piece :]).replace("::::", "::").lstrip(":")
    return Signature(True, text[scan.name_start : scan.end], path) if path else no_code


def _demangled(text: str) -> tuple[str, list[str]]:
    """Reads an Itanium-mangled nested name as far as names go.

    Returns:
        The scoped name, empty if there is none, and the first names among its template arguments.

    Source: Itanium C++ ABI, 5.1 (a source name is a length and that many characters; ``L...E`` is a
    literal, ``S..._`` and ``T..._`` refer back, ``DF16b`` is a type).
    """
    path: list[str] = []
    i = len("_ZN")
    while i < len(text) and text[i].isdecimal():
        name, i = _source_name(text, i)
        if i > len(text):
            return "", []
        path.append(name)
    arguments: list[str] = []
    while i < len(text) and len(arguments) < _MANGLED_ARGUMENTS:
        if text[i].isdecimal():
            name, i = _source_name(text, i)
            arguments.append(name)
        elif text[i] in _MANGLED_ENDS:
            i = text.find(_MANGLED_ENDS[text[i]], i) + 1 or len(text)
        else:
            i += 4 if text.startswith("DF16", i) else 1
    scoped = "::".join(name for name in path if name and name != "_GLOBAL__N_1")
    return scoped, [name for name in arguments if name.isidentifier()]


def _source_name(text: str, i: int) -> tuple[str, int]:
    """Reads a length and that many characters; returns them and where they end."""
    start = i
    while i < len(text) and text[i].isdecimal() and i - start < _LENGTH_DIGITS:
        i += 1
    end = i + int(text[start:i])
    return text[i:end], end


def _parts(text: str, separator: str) -> list[str]:
    """Splits at a separator (``,`` or ``::``) that stands outside all brackets."""
    brackets = _Brackets()
    parts: list[str] = []
    start = 0
    for found in _MARKS_AND_SEPARATORS.finditer(text):
        mark = found.group()
        if mark == separator and not brackets.open:
            parts.append(text[start : found.start()].strip())
            start = found.end()
        elif len(mark) == 1:
            brackets.take(text, found.start())
    parts.append(text[start:].strip())
    return parts


def _template(component: str) -> tuple[str, list[str]]:
    """Splits ``name<a, b>`` into the name and its arguments; what follows the arguments is dropped."""
    start = component.find("<")
    if start <= 0:
        return component, []
    brackets = _Brackets()
    end = len(component)
    for found in _MARKS.finditer(component, start):
        brackets.take(component, found.start())
        if not brackets.open:
            end = found.start()
            break
    inner = component[start + 1 : end]
    return component[:start], _parts(inner, ",") if inner.strip() else []


def _telling_component(argument: str) -> str:
    """Returns the last component of a scoped name that is no lambda and no operator, without parameters."""
    if _PLAIN_SCOPED.fullmatch(argument):
        return argument.rpartition("::")[2]
    components = [
        part
        for part in _parts(argument, "::")
        if part and not part.startswith(("{", "operator", "'lambda", _ANONYMOUS))
    ]
    last = components[-1] if components else argument
    call, angle = last.find("("), last.find("<")
    if last.startswith("{"):
        return last
    return last[:call] if call > 0 and (angle < 0 or call < angle) else last


def _short_argument(argument: str, *, nested: bool) -> str:
    """Shortens one template argument; the empty text if it tells nothing."""
    cast = _CAST.match(argument)
    text = argument[cast.end() :] if cast else argument
    number = _INTEGER.fullmatch(text)
    if number:
        return number.group(1)
    name, inner = _template(_telling_component(text))
    for _ in range(_SHOWN_NESTED):
        if name not in _WRAPPERS or not inner:
            break
        name, inner = _template(_telling_component(inner[_WRAPPERS[name]]))
    if name in _QUIET_ARGUMENTS:
        return ""
    if not inner or nested:
        return name
    shown: list[str] = []
    for each in inner:
        short = _short_argument(each, nested=True)
        # float, float, float, MulFunctor: the repeated types hide what the functor does.
        if short and (short[0].isdigit() or short not in shown):
            shown.append(short)
    return f"{name}<{_listed(shown, _NESTED_LIMITS.get(name, _SHOWN_NESTED))}>"


def _listed(shown: Sequence[str], limit: int) -> str:
    return ", ".join([*shown[:limit], _ELLIPSIS] if len(shown) > limit else shown)


def _short_code(signature: Signature) -> str:
    """Shortens a scoped name: fewer namespaces, fewer and shorter template arguments."""
    components = [part for part in _parts(signature.name, "::") if part and part not in _QUIET_NAMESPACES]
    if not components:
        return signature.name
    name, arguments = _template(components[-1])
    scopes = [_template(part)[0] for part in components[:-1]]
    head = "::".join([*scopes, name][-_SHOWN_COMPONENTS:])
    shown = [short for short in (_short_argument(each, nested=False) for each in arguments) if short]
    return f"{head}<{_listed(shown, _SHOWN_ARGUMENTS)}>" if shown else head


def _short_tensile(text: str) -> str:
    """Keeps operand layout, types, macro tile and matrix instruction of a Tensile kernel.

    Source: ROCm Tensile, KernelWriterBase naming (``Cijk_<A>_<B>_<types>_..._MT<tile>_MI<instruction>_...``).
    """
    words = text.split("_")
    head = words[:3]
    for word in words[3:]:
        if word in _TENSILE_FLAG or _TENSILE_SHAPE.match(word):
            break
        head.append(word)
    shapes = [word for word in words[3:] if _TENSILE_SHAPE.match(word)]
    return "_".join(head + shapes[:2]) + _ELLIPSIS


def _visible(text: str) -> str:
    """Writes what cannot be seen (line ends, marks of direction) as escapes."""
    if text.isprintable():
        return text
    return "".join(mark if mark.isprintable() else mark.encode("unicode_escape").decode() for mark in text)


def _fitted(text: str) -> str:
    """Cuts the middle out of what is too long: names differ at both ends."""
    if len(text) <= SHOWN_LENGTH:
        return text
    tail = SHOWN_LENGTH // 3
    return text[: SHOWN_LENGTH - tail - 1] + _ELLIPSIS + text[-tail:]


def short_name(full: str) -> str:
    """Returns a kernel's name as tables and lanes show it.

    Return type, parameters, common namespaces and arguments that only carry
    pointers go; functors stay: ``vectorized_elementwise_kernel<4, silu_backward_kernel>``.

    Args:
        full: Any text. Two different ones may have one short name: see ``short_names``.
    """
    text = full.removesuffix(" [clone .kd]").removesuffix(".kd")
    if len(text) > _LOOKED_AT:
        text = text[: _LOOKED_AT - 1] + _ELLIPSIS
    if not text:
        return NO_NAME
    if text.startswith("Cijk_"):
        return _fitted(_visible(_short_tensile(text)))
    signature = split_name(text)
    return _fitted(_visible(_short_code(signature) if signature.is_code else text))


def _lambda_types(full: str) -> str:
    """Returns the parameter types of the first lambda with any: for what types the functor was built."""
    for part in split_name(full).name.split("{lambda(")[1:]:
        types = part.partition(")")[0]
        if types:
            return ", ".join(dict.fromkeys(each.strip().rpartition("::")[2] for each in types.split(",")))
    return ""


def short_names(texts: Iterable[str]) -> list[str]:
    """Returns short names that differ where the full names differ.

    Names that would read the same get the types their functor was built for,
    and a number if that does not tell them apart.

    Args:
        texts: Full names, in any order; the same name may occur more than once.
    """
    fulls = list(texts)
    shown = {full: short_name(full) for full in dict.fromkeys(fulls)}
    for full in _colliding(shown):
        types = _lambda_types(full)
        if types:
            shown[full] = _fitted(_visible(f"{shown[full]} ({types})"))
    seen: dict[str, int] = {}
    taken = set(shown.values())
    for full in _colliding(shown):
        plain = shown[full]
        number = seen.get(plain, 0) + 1
        while f"{plain} #{number}" in taken:
            number += 1
        seen[plain] = number
        shown[full] = f"{plain} #{number}"
    return [shown[full] for full in fulls]


def _colliding(shown: dict[str, str]) -> list[str]:
    """Returns the full names whose short name another one has too."""
    counts: dict[str, int] = {}
    for short in shown.values():
        counts[short] = counts.get(short, 0) + 1
    return [full for full, short in shown.items() if counts[short] > 1]

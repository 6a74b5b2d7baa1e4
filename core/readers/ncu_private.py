"""What is private in a text, and the text without it: folders, and words that are known to be private.

Of a path only a file name that has an extension stays. In a text that may grow or
shrink a folder becomes a neutral word; where lengths must stay, letters become x.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

FOLDER: Final = b"(folder)"
WORD: Final = b"(private)"
FOLDERS: Final = "folders"
WORDS: Final = "private words"

_END: Final = rb"\s\x00-\x1f\x7f\"'<>|:*?\\/,;@"
# A folder may have blanks where another separator follows; not behind a word that is the name of a file.
_STEP: Final = (
    rb"(?:(?:(?![^" + _END + rb"]*\.[A-Za-z]\w{0,5} )[^" + _END + rb"]+ ){0,4}[^" + _END + rb"]+[\\/]+)"
)
_LAST: Final = rb"[^" + _END + rb"()\[\]{}]*"
# A path that begins with a word is told from "byte/second" by a second separator, or by the kind of its file.
_RUN: Final = rb"(?<![\w.+\-\\/])(?!-[A-Za-z][\\/])[\w.+-]+[\\/]+"
_KINDS: Final = (
    rb"(?:c|cc|cpp|cxx|cu|cuh|h|hh|hpp|hxx|inl|inc|ptx|sass|cubin|fatbin|hip|cl|ll|s|f|f90|rs|go|jl|lua"
    rb"|py|pyx|pyi|pyc|ipynb|sh|bat|so|o|a|dll|exe|out|bin|whl|jar|java|js|ts"
    rb"|txt|md|log|json|jsonl|ya?ml|toml|ini|cfg|conf|xml|html?|csv|tsv|db|sqlite|env|lock|cmake"
    rb"|pt|pth|ckpt|safetensors|onnx|engine|plan|gguf|npy|npz|pkl|pickle|h5|hdf5|parquet|arrow"
    rb"|gz|zip|zst|tar|tgz|png|jpe?g|pdf|ncu-repz?|nsys-rep|section)"
)
_RELATIVE: Final = _RUN + rb"(?:(?:[\w.+-]+[\\/]+)+[\w.+-]*|[\w+-]+(?:\.[\w+-]+)*\." + _KINDS + rb"(?!\w))"
_PATH_IN_TEXT: Final = re.compile(
    rb"(?P<address>\b(?:https?|ftp)://[^\s@]+)"
    rb"|(?:\bfile:/+(?:[A-Za-z]:[\\/]+)?"
    rb"|(?<![\w/\\])[A-Za-z]:[\\/]+(?=\w)"
    rb"|(?<![\\])\\\\(?=[\w.-]+\\)"
    rb"|(?<![\w:/\\)\]%])//(?=[\w.-]+/)"
    rb"|(?<![\w/\\)\]%])(?:~[\w.-]*|\.{1,2})?/(?=[^\s/=\x00])"
    rb"|(?<=-[A-Za-z])/"
    rb"|[\\/](?=(?:home|Users)[\\/]))" + _STEP + rb"*" + _LAST + rb"|" + _RELATIVE
)
_LETTER: Final = rb"(?:[ !#-&(-)+-.0-9;=@-\[\]-{}~]|[\xc2-\xf4][\x80-\xbf]{1,3})"
# Between bytes that are no text one separator is no sign of a path, unless a zero ends it.
_PATH_IN_BYTES: Final = re.compile(
    rb"(?:[A-Za-z]:)?(?:(?:[\\/]{1,2}" + _LETTER + rb"{1,255}){2,}[\\/]?"
    rb"|(?<![\w:/\\])[\\/]" + _LETTER + rb"{3,255}[\\/]?(?=\x00))"
    rb"|[\\/](?:home|Users)[\\/]" + _LETTER + rb"{1,255}"
    rb"|" + _RELATIVE + rb"|(?<![^\x00])[\w.+-]+[\\/]+[\w.+-]*(?=\x00)"
)
_FILE: Final = re.compile(rb"[^\\/ ]*\.[A-Za-z0-9_]{1,12}$")
_IS_HOME: Final = re.compile(rb"(?:^|[\\/])(?:home|Users)[\\/]+[^\\/]*$")
_USER: Final = re.compile(rb"[\\/](?:home|Users)[\\/]+([^\\/\x00-\x1f\x7f\"'<>|:*?,;@]{1,64})")
_NAME_BYTE: Final = re.compile(rb"[^\\/:]")
_NUMBER: Final = re.compile(rb"[\d.,+\-eE]+$")
_FEWEST: Final = 3
_FEWEST_OF_VALUE: Final = 6
_FEWEST_IN_BYTES: Final = 5
_NOT_PRIVATE: Final = frozenset(
    (
        b"localhost",
        b"127.0.0.1",
        b"::1",
        b"root",
        b"user",
        b"users",
        b"ubuntu",
        b"runner",
        b"Public",
        b"Default",
    )
)


def host_words(host: bytes) -> set[bytes]:
    """Returns a host name and its first label."""
    words = {host, host.split(b".")[0]} if not _NUMBER.match(host) else {host}
    return {word for word in words if len(word) >= _FEWEST and word not in _NOT_PRIVATE}


def user_words(text: bytes) -> set[bytes]:
    """Returns the users whose home folders a text names, the parts of a name with blanks too."""
    words: set[bytes] = set()
    for found in _USER.finditer(text):
        words.update((found[1].strip(), found[1].split(b" ")[0]))
    return {
        word
        for word in words
        if len(word) >= _FEWEST and word not in _NOT_PRIVATE and not _NUMBER.match(word)
    }


def value_words(values: Iterable[bytes]) -> set[bytes]:
    """Returns arguments or values of variables that are long enough to say something, ``KEY=value`` too."""
    words = {part.strip() for value in values for part in (value, value.partition(b"=")[2])}
    return {word for word in words if len(word) >= _FEWEST_OF_VALUE and not _NUMBER.match(word)}


class PrivateText:
    """Takes folders and private words out of texts.

    Attributes:
        removed: Counts what was taken out, in words for people.
    """

    def __init__(self, words: Iterable[bytes], removed: Counter[str]) -> None:
        known = sorted(set(words), key=lambda word: (-len(word), word))
        self.removed = removed
        self._words = _any_of(known)
        self._long_words = _any_of([word for word in known if len(word) >= _FEWEST_IN_BYTES])

    def clean(self, text: bytes) -> bytes:
        """Returns a text without folders and private words."""
        return self.clean_words(self.clean_paths(text))

    def clean_words(self, text: bytes) -> bytes:
        """Returns a text without private words; folders stay, and so does what divides."""
        return text if self._words is None else self._words.sub(self._word, text)

    def clean_paths(self, text: bytes) -> bytes:
        """Returns a text without folders; other words stay."""
        return _PATH_IN_TEXT.sub(self._named, text) if b"/" in text or b"\\" in text else text

    def mask(self, data: bytes) -> bytes:
        """Returns bytes of the same length whose folders and private words are x."""
        data = _PATH_IN_BYTES.sub(self._masked, data)
        return data if self._long_words is None else self._long_words.sub(self._masked_word, data)

    def _word(self, _found: re.Match[bytes]) -> bytes:
        self.removed[WORDS] += 1
        return WORD

    def _masked_word(self, found: re.Match[bytes]) -> bytes:
        self.removed[WORDS] += 1
        return b"x" * len(found[0])

    def _named(self, found: re.Match[bytes]) -> bytes:
        if found["address"]:
            return found[0]
        path = found[0].rstrip(b".")
        self.removed[FOLDERS] += 1
        return (_file_of(path) or FOLDER) + found[0][len(path) :]

    def _masked(self, found: re.Match[bytes]) -> bytes:
        path = found[0]
        kept = len(path) - len(_file_of(path))
        masked = _NAME_BYTE.sub(b"x", path[:kept]) + path[kept:]
        self.removed[FOLDERS] += masked != path
        return masked


def _any_of(words: list[bytes]) -> re.Pattern[bytes] | None:
    if not words:
        return None
    return re.compile(rb"(?<!\w)(?:" + b"|".join(map(re.escape, words)) + rb")(?!\w)")


def _file_of(path: bytes) -> bytes:
    """Returns the name of the file that a path leads to; nothing if it is a folder or may be one."""
    name = _FILE.search(path)
    return b"" if name is None or _IS_HOME.search(path) else name[0]

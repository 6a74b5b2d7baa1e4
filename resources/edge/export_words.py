"""What the scripts of the edge path say: events as lines, and errors in the user's code as one sentence.

Started under the user's interpreter; imports no torch. Python 3.9 and newer.
"""

import importlib.util
import json
import os
import re
import sys
import sysconfig
import traceback

HERE = os.path.dirname(os.path.abspath(__file__))
FRAME = re.compile(r'File "([^"]+)", line (\d+)')
LIBRARIES = tuple(
    os.path.join(sysconfig.get_paths()[name], "") for name in ("stdlib", "platstdlib", "purelib", "platlib")
)


class Refused(Exception):
    """It cannot go on, for a reason that can be told."""

    def __init__(self, code, message, hint):
        super().__init__(message)
        self.facts = {"code": code, "message": message, "hint": hint}


def load_file(path, name):
    """Import a file under a name, whatever lies on the path."""
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def answering():
    """Keep stdout for the events: what a library prints goes to stderr."""
    channel = os.fdopen(os.dup(1), "w", encoding="utf-8", errors="backslashreplace")
    os.dup2(2, 1)

    def tell(event, **facts):
        line = json.dumps(dict({"event": event}, **facts))
        channel.write("\n" + line + "\n")
        channel.flush()

    return tell


def is_users(path, folders):
    """Tell whether a source file is the user's: below one of the folders, and of no library."""
    for folder in (os.path.join(each, "") for each in folders):
        if path.startswith(folder) and "site-packages" not in path[len(folder) :]:
            return not any(path.startswith(each) and not folder.startswith(each) for each in LIBRARIES)
    return False


def place(frames, folders):
    """Return "model.py:12" of the last (path, line) that is the user's; "" without one."""
    mine = [(path, line) for path, line in frames if is_users(path, folders)]
    return "%s:%s" % (os.path.basename(mine[-1][0]), mine[-1][1]) if mine else ""


def place_of_error(error, folders):
    """Return where in the user's files an error came from; "" if it did not."""
    if isinstance(error, SyntaxError) and error.filename and is_users(error.filename, folders):
        return "%s:%s" % (os.path.basename(error.filename), error.lineno)
    frames = traceback.extract_tb(error.__traceback__)
    found = place([(frame.filename, frame.lineno) for frame in frames], folders)
    # An export tells the user's line in its words.
    return found or place(FRAME.findall(str(error)), folders)


def first_line(error):
    """Return what an error is, in one line."""
    words = str(error).strip().splitlines()
    said = words[0].strip()[:300] if words else ""
    name = type(error).__name__
    return "%s: %s" % (name, said) if said else name


def beside(name):
    """Import a file that lies beside this one; its folder is not on the path of the user's model."""
    return load_file(os.path.join(HERE, name + ".py"), "ridgeline_" + name)


class Opened:
    """Which files were opened from now on that are no library's: what a script's model was made from."""

    def __init__(self):
        self._paths = {}
        sys.addaudithook(self._hear)

    def _hear(self, event, arguments):
        if event == "open" and self._paths is not None and isinstance(arguments[0], (str, bytes)):
            self._paths[os.path.abspath(os.fsdecode(arguments[0]))] = None

    def write(self, path, folder):
        """Write them with size and time, without what was written below a folder."""
        paths, self._paths = self._paths, None
        found = []
        for each in paths:
            if each.startswith((*LIBRARIES, os.path.join(folder, ""), "/proc/", "/sys/", "/dev/")):
                continue
            if "site-packages" in each or not os.path.isfile(each):
                continue
            status = os.stat(each)
            found.append({"path": each, "size_bytes": status.st_size, "modified_ns": status.st_mtime_ns})
        with open(path, "w", encoding="utf-8") as file:
            json.dump(found, file)

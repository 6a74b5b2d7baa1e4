"""Turning this process into one that nothing of the window or its terminal can end."""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import sys

_PR_SET_CHILD_SUBREAPER = 36
_FIRST_OTHER_DESCRIPTOR = 3
_MOST_DESCRIPTORS = 65_536


def detach() -> int:
    """Forks twice and goes on in the grandchild: own session, no terminal, no foreign descriptors.

    Standard output and error stay as they are. Orphans below this process
    become its children (on Linux), so that none of a job can get away.

    Returns:
        The umask that was in force, for what is started on the user's behalf.

    Source: daemon(7); prctl(2), PR_SET_CHILD_SUBREAPER.
    """
    if os.fork():
        os._exit(0)
    os.setsid()
    if os.fork():
        os._exit(0)
    umask = os.umask(0o077)
    os.chdir("/")
    _forget_signals()
    os.closerange(_FIRST_OTHER_DESCRIPTOR, _descriptor_limit())
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    return umask


def _forget_signals() -> None:
    """Undoes what was inherited: nohup and shells' background jobs ignore signals that a stop needs."""
    for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD):
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())


def _descriptor_limit() -> int:
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    return _MOST_DESCRIPTORS if hard == resource.RLIM_INFINITY else min(hard, _MOST_DESCRIPTORS)

"""Runs one rank's training script unchanged and writes down what it does.

Started by torchrun in the place of the script: ``rank_agent.py SCRIPT ARGS`` or
``rank_agent.py -m MODULE ARGS``. It needs the standard library alone, runs under
the interpreter of the user (Python 3.9 or newer, torch 2.4 or newer) and must stay
alone in its folder: whatever lay beside it could be imported by the script.

It writes ``ranks/<rank>.jsonl`` in the run folder that RIDGELINE_RUN_DIR names
(layout: ``core/telemetry/events.py``), sends the script's output to
``logs/<rank>.out`` and ``.err``, and takes captures that ``control.jsonl`` or
RIDGELINE_PROFILE ask for. Hooks are set at the moment the script imports torch. It
never waits for a device, never takes part in a collective, and never lets an error
of its own reach the script. It holds no reader and no drawing.
"""

from __future__ import annotations

import atexit
import builtins
import contextlib
import errno
import functools
import io
import json
import math
import os
import signal
import sys
import threading
import time
import types
import weakref
from typing import Any, Callable, Dict, Iterator, List, Optional, Set, Tuple, Union

WIRE_VERSION = 1
TICK_S = 0.25
HEARTBEAT_S = 0.5
MESSAGE_CHARACTERS = 4_000
TRACEBACK_CHARACTERS = 32_000
PROBLEM_LIMIT = 20
PENDING_LIMIT = 4_096
HISTORY_ENTRIES = 200_000
OTHER_OPTIMIZER_STEPS = 50
NO_ROOM = (errno.ENOSPC, errno.EFBIG, getattr(errno, "EDQUOT", errno.ENOSPC))
STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM)
BEAT_MEMORY = ("allocated_bytes", "reserved_bytes", "peak_bytes")

Fields = Dict[str, Any]
Record = Tuple[str, Fields]

_encode = json.JSONEncoder(separators=(",", ":")).encode


def create_time_s() -> Optional[float]:
    """When this process was created, in seconds since boot; None where the system does not say.

    Source: proc(5), /proc/pid/stat field 22 (starttime).
    """
    try:
        with open("/proc/self/stat", "rb") as file:
            after_name = file.read().rpartition(b")")[2].split()
        return int(after_name[19]) / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError):
        return None


def clean(text: str) -> str:
    """Text that is valid Unicode: bytes that Python smuggled in become escapes."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def number(value: float) -> Union[float, str]:
    """A float as the wire holds it: NaN and infinities are strings."""
    if math.isfinite(value):
        return value
    if math.isnan(value):
        return "nan"
    return "inf" if value > 0 else "-inf"


# --- the rank's file ---------------------------------------------------------


@contextlib.contextmanager
def held_signals() -> Iterator[None]:
    """Holds back the signals of a stop for a few system calls."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    try:
        # One that is on its way already is raised here.
        signal.pthread_sigmask(signal.SIG_BLOCK, STOP_SIGNALS)
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


class Records:
    """The append-only record file of this rank.

    Every call ends in one ``write``, so a reader sees whole lines except when the
    disk is full. What could not be written is counted and its numbers are skipped.
    A forked child inherits the object and must not write: it has another pid.
    """

    def __init__(self, path: str) -> None:
        self._pid = os.getpid()
        self._lock = threading.RLock()
        self._problems: List[str] = []
        self.lost = 0
        self.closed = False
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_CLOEXEC", 0), 0o600)
        self._sequence, self._torn = self._last_sequence()

    def _last_sequence(self) -> Tuple[int, bool]:
        size = os.fstat(self._file).st_size
        if size == 0:
            return 0, False
        os.lseek(self._file, max(0, size - (1 << 16)), os.SEEK_SET)
        tail = os.read(self._file, 1 << 16)
        for line in reversed(tail.split(b"\n")):
            try:
                return int(json.loads(line)["seq"]), not tail.endswith(b"\n")
            except (ValueError, KeyError, TypeError):
                continue
        return 0, True

    def write(self, *records: Record) -> None:
        """Appends records with one system call; never raises OSError.

        A stop interrupts the script anywhere, but not here: it comes before or after,
        so that no number of the sequence is spent on a record that is never written.
        """
        if self.closed or os.getpid() != self._pid:
            return
        with self._lock, held_signals():
            now_ns = time.time_ns()
            lines = [""] if self._torn else []
            for kind, fields in records:
                self._sequence += 1
                lines.append(_encode({"kind": kind, "seq": self._sequence, "t_ns": now_ns, **fields}))
            data = ("\n".join(lines) + "\n").encode("ascii")
            try:
                written = os.write(self._file, data)
            except OSError:
                written = 0
            if written < len(data):
                whole = data[:written].count(b"\n") - (1 if self._torn and written else 0)
                self.lost += len(records) - whole
            self._torn = written < len(data)

    def problem(self, where: str, error: object) -> None:
        """Notes, once a message, that the agent failed at part of its work."""
        detail = f"{type(error).__name__}: {error}" if isinstance(error, BaseException) else str(error)
        message = clean(f"{where}: {detail}")[:MESSAGE_CHARACTERS]
        if message in self._problems or len(self._problems) >= PROBLEM_LIMIT:
            return
        self._problems.append(message)
        self.write(("problem", {"message": message}))

    def close(self, *records: Record) -> None:
        """Writes the last records; whatever comes later is dropped."""
        with self._lock:
            self.write(*records)
            self.closed = True


class Output(io.FileIO):
    """The raw end of the script's stdout or stderr.

    A disk that is full costs lines, never the script: a print that raises would end
    it, and so would the last flush.
    """

    def __init__(self, descriptor: int, records: Records) -> None:
        super().__init__(descriptor, "wb", closefd=False)
        self._records = records

    def write(self, data: Any) -> int:
        """Writes like a file; what finds no room is dropped."""
        try:
            return super().write(data)
        except OSError as error:
            if error.errno not in NO_ROOM:
                raise
            self._records.problem("log files", error.strerror)
            return memoryview(data).nbytes


def unfailing(stream: Any, descriptor: int, records: Records) -> Any:
    """A text stream like the given one of Python's start, over an :class:`Output`."""
    raw = Output(descriptor, records)
    raw.name = stream.name
    unbuffered = isinstance(stream.buffer, io.FileIO)
    text: Any = io.TextIOWrapper(
        raw if unbuffered else io.BufferedWriter(raw),  # as python -u does
        encoding=stream.encoding,
        errors=stream.errors,
        newline=None if os.name == "nt" else "\n",
        line_buffering=True,
        write_through=stream.write_through,
    )
    text.mode = "w"
    return text


class ResidentMemory:
    """Resident memory of this process."""

    def __init__(self) -> None:
        self._file = -1
        try:
            self._file = os.open("/proc/self/statm", os.O_RDONLY | os.O_CLOEXEC)
            self._page_bytes = os.sysconf("SC_PAGE_SIZE")
        except (OSError, AttributeError, ValueError):
            pass

    def read_bytes(self) -> Optional[int]:
        """Bytes now; where the system has no /proc, the largest figure so far."""
        if self._file >= 0:
            return int(os.pread(self._file, 64, 0).split()[1]) * self._page_bytes
        try:
            import resource
        except ImportError:
            return None
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return int(peak) if sys.platform == "darwin" else int(peak) * 1024


# --- figures that lie on a device --------------------------------------------


class Slot:
    """A figure on its way from a device to pinned host memory."""

    def __init__(self, view: Any, event: Any, device_index: int) -> None:
        self.view = view
        self.event = event
        self.device_index = device_index


Reading = Union[float, Slot]


class Scalars:
    """Reads one-element tensors without ever making the host wait.

    On the CPU the value is there. On CUDA it is copied to pinned memory behind the
    work that makes it, and an event tells when it has arrived.
    """

    def __init__(self, torch: Any, records: Records) -> None:
        self._torch = torch
        self._records = records
        self._free: Dict[int, List[Slot]] = {}
        self._out = 0

    def read(self, tensor: Any) -> Optional[Reading]:
        """Takes a plain one-element tensor; None if it cannot be had for free."""
        kind = tensor.device.type
        if kind == "cpu":
            return float(tensor.detach().item())
        if kind == "cuda":
            return self._send(tensor.detach())
        if kind != "meta":
            self._records.problem("loss", f"values on {kind} devices cannot be read without waiting")
        return None

    def capturing(self) -> bool:
        """A CUDA graph is being captured: nothing may be asked of the device."""
        cuda = self._torch.cuda
        return bool(cuda.is_initialized() and cuda.is_current_stream_capturing())

    def _send(self, tensor: Any) -> Optional[Slot]:
        if self._torch.cuda.is_current_stream_capturing() or self._out >= PENDING_LIMIT:
            return None
        index = tensor.device.index
        free = self._free.setdefault(index, [])
        if not free:
            # The script may have made a GPU the default place of new tensors.
            block = self._torch.empty(64, dtype=self._torch.float32, device="cpu", pin_memory=True)
            with self._torch.cuda.device(index):
                free.extend(Slot(block[i : i + 1], self._torch.cuda.Event(), index) for i in range(64))
        slot = free.pop()
        slot.view.copy_(tensor.reshape(1), non_blocking=True)
        slot.event.record(self._torch.cuda.current_stream(index))
        self._out += 1
        return slot

    def arrived(self, reading: Reading) -> bool:
        """Whether :meth:`take` has a value to give."""
        return not isinstance(reading, Slot) or bool(reading.event.query())

    def take(self, reading: Reading) -> float:
        """The value of a reading that has arrived; its slot is used again."""
        if not isinstance(reading, Slot):
            return reading
        value = float(reading.view.item())
        self._free[reading.device_index].append(reading)
        self._out -= 1
        return value


def plain_tensor(tensor: Any, torch: Any) -> Tuple[Any, bool]:
    """The local, plain tensor behind a tensor, and whether it is only a part.

    A DTensor gives its local part without a collective. Tensors without data
    (fake, functional) and collectives still under way give None.
    """
    if type(tensor) is torch.Tensor:
        return tensor, False
    partial = False
    if hasattr(tensor, "_local_tensor") and hasattr(tensor, "placements"):
        partial = not all(placement.is_replicate() for placement in tensor.placements)
        tensor = tensor._local_tensor
    if hasattr(tensor, "fake_mode") or hasattr(tensor, "trigger_wait"):
        return None, partial
    return tensor.detach().as_subclass(torch.Tensor), partial


# --- captures ----------------------------------------------------------------


class Request:
    """One request for a capture, with every field checked."""

    def __init__(self, fields: Fields) -> None:
        self.name = str(fields.get("request", ""))
        self.what = str(fields.get("what", "trace"))
        self.steps = min(1_000, max(1, int(fields.get("steps") or 1)))
        self.first_step = int(fields.get("first_step") or 0)
        ranks = fields.get("ranks")
        self.ranks = None if ranks is None else {int(rank) for rank in ranks}
        self.with_stack = bool(fields.get("with_stack", False))
        self.with_memory = bool(fields.get("with_memory", True))


class Trace:
    """A torch.profiler trace of some steps, under way."""

    def __init__(self, torch: Any, request: Request, step: int) -> None:
        if torch.autograd._profiler_enabled():
            raise RuntimeError("the script's own profiler is running")
        self._torch = torch
        self.request, self.first_step = request, step
        self._mark: Any = None
        self._then: Optional[Callable[[], None]] = None
        self._restores: List[Callable[[], None]] = []
        activities = [torch.profiler.ProfilerActivity.CPU]
        if torch.cuda.is_initialized():
            activities.append(torch.profiler.ProfilerActivity.CUDA)
        self._profile = torch.profiler.profile(
            activities=activities,
            record_shapes=True,
            profile_memory=request.with_memory,
            with_stack=request.with_stack,
        )
        self._profile.start()
        self._give_way()
        self._watch_ranges()
        self.boundary(step)

    def _give_way(self) -> None:
        """Ends this trace early if the script starts a profiler: there can be one."""
        base: Any = self._torch.profiler.profiler._KinetoProfile
        prepare = base.prepare_trace

        def prepare_trace(profile: Any) -> None:
            self._stop()
            prepare(profile)

        base.prepare_trace = prepare_trace
        self._restores.append(functools.partial(setattr, base, "prepare_trace", prepare))

    def _watch_ranges(self) -> None:
        """Step hooks run inside torch's range of the optimizer step: waits for its end."""
        kind: Any = self._torch.autograd.profiler.record_function
        leave = kind.__exit__

        def leave_and_stop(profiled: Any, *error: Any) -> None:
            leave(profiled, *error)
            then = self._then
            if then is not None and str(profiled.name).startswith("Optimizer.step#"):
                self._then = None
                then()

        kind.__exit__ = leave_and_stop
        self._restores.append(functools.partial(setattr, kind, "__exit__", leave))

    def boundary(self, step: int) -> None:
        """Marks the beginning of a step as other tools know it."""
        self._end_mark()
        self._mark = self._torch.profiler.record_function(f"ProfilerStep#{step}")
        self._mark.__enter__()

    def end_soon(self, finish: Callable[[], None]) -> None:
        """The last step is over; calls ``finish`` once its optimizer range is."""
        self._end_mark()
        self._then = finish

    def _end_mark(self) -> None:
        mark, self._mark = self._mark, None
        if mark is not None:
            mark.__exit__(None, None, None)

    def _stop(self) -> None:
        restores, self._restores = self._restores, []
        for restore in restores:
            restore()
        if restores:
            self._then = None
            self._end_mark()
            self._profile.stop()

    def save(self, path: str) -> None:
        """Writes the trace.

        Raises:
            OSError: The file is not whole.
        """
        self._stop()
        self._profile.export_chrome_trace(path)
        with open(path, "rb") as file:
            file.seek(max(0, os.path.getsize(path) - 16))
            if not file.read().rstrip().endswith((b"}", b"]")):
                raise OSError("the file was cut short; is the disk full?")


class Snapshot:
    """A CUDA memory snapshot with the history of some steps, under way."""

    def __init__(self, torch: Any, request: Request, step: int) -> None:
        if not torch.cuda.is_initialized():
            raise RuntimeError("this rank uses no CUDA device, and only CUDA memory can be shown")
        self._memory = torch.cuda.memory
        self.request, self.first_step = request, step
        enabled = getattr(torch._C, "_cuda_isHistoryEnabled", None)
        self._is_ours = enabled is None or not enabled()
        if self._is_ours:
            self._memory._record_memory_history(stacks="python", max_entries=HISTORY_ENTRIES)

    def boundary(self, step: int) -> None:
        """Nothing is marked in a snapshot."""

    def end_soon(self, finish: Callable[[], None]) -> None:
        """Nothing has to end before."""
        finish()

    def save(self, path: str) -> None:
        """Writes the snapshot and ends the history, unless it is the script's."""
        try:
            self._memory._dump_snapshot(path)
        finally:
            if self._is_ours:
                self._memory._record_memory_history(enabled=None)


def thread_stacks(own_file: str) -> str:
    """Stacks of all threads but the caller's, without the agent's frames."""
    import traceback

    names = {thread.ident: thread for thread in threading.enumerate()}
    parts = []
    for identity, frame in sys._current_frames().items():
        if identity == threading.get_ident():
            continue
        thread = names.get(identity)
        title = f"Thread {thread.name!r}" if thread else f"Thread {identity}"
        lines = [entry for entry in traceback.extract_stack(frame) if entry.filename != own_file]
        parts.append(title + (" (daemon)" if thread and thread.daemon else "") + "\n")
        parts.append("".join(traceback.format_list(lines)) + "\n")
    return "".join(parts)


CAPTURE_FOLDERS = {
    "trace": ("traces", "json"),
    "snapshot": ("snapshots", "pickle"),
    "stacks": ("stacks", "txt"),
}


class Captures:
    """Captures of this rank: those that wait, and the one under way."""

    def __init__(self, records: Records, folder: str, rank: int) -> None:
        self._records, self._folder, self._rank = records, folder, rank
        self._waiting: List[Request] = []
        self._seen: Set[str] = set()
        self._running: Optional[Union[Trace, Snapshot]] = None
        self._ending = False

    def ask(self, fields: Fields, step: int) -> None:
        """Takes a request from any thread; stacks are answered here and now."""
        request = Request(fields)
        if request.name in self._seen or (request.ranks is not None and self._rank not in request.ranks):
            return
        self._seen.add(request.name)
        if request.what not in CAPTURE_FOLDERS:
            self._fail(request, "this version of the agent cannot take it")
        elif request.what == "stacks":
            self._take_stacks(request, step)
        else:
            self._waiting.append(request)

    def at_boundary(self, torch: Any, step: int) -> None:
        """Ends and begins captures; ``step`` is the one that begins now."""
        running = self._running
        if running is not None:
            if step < running.first_step + running.request.steps:
                running.boundary(step)
                return
            if not self._ending:
                self._ending = True
                running.end_soon(functools.partial(self._finish, step))
                return
            self._finish(step)
        for request in list(self._waiting):
            if request.first_step <= step and self._running is None:
                self._waiting.remove(request)
                self._begin(torch, request, step)

    def give_up(self, step: int) -> None:
        """The script has ended: saves what there is, refuses what waits."""
        if self._running is not None:
            self._finish(step)
        for request in self._waiting:
            self._fail(request, "the script ended before the next step boundary")
        self._waiting = []

    def _begin(self, torch: Any, request: Request, step: int) -> None:
        try:
            self._running = (Trace if request.what == "trace" else Snapshot)(torch, request, step)
        except Exception as error:
            self._fail(request, error)
            return
        self._records.write(("capture_started", {"request": clean(request.name), "step": step}))

    def _finish(self, step: int) -> None:
        running, self._running, self._ending = self._running, None, False
        if running is not None:
            self._save(running.request, running.first_step, running.save)

    def _take_stacks(self, request: Request, step: int) -> None:
        def save(path: str) -> None:
            with open(path, "w", encoding="utf-8", errors="backslashreplace") as file:
                file.write(thread_stacks(Captures.ask.__code__.co_filename))

        self._save(request, step, save)

    def _save(self, request: Request, step: int, save: Callable[[str], None]) -> None:
        folder, suffix = CAPTURE_FOLDERS[request.what]
        begin_ns = time.perf_counter_ns()
        temporary = ""
        try:
            os.makedirs(os.path.join(self._folder, folder), mode=0o700, exist_ok=True)
            path = self._new_path(os.path.join(self._folder, folder, f"step{step}_rank{self._rank}"), suffix)
            temporary = path + ".tmp"
            save(temporary)
            os.chmod(temporary, 0o600)
            os.replace(temporary, path)
        except Exception as error:
            if temporary and os.path.exists(temporary):
                os.unlink(temporary)
            self._fail(request, error)
            return
        ready = {
            "request": clean(request.name),
            "what": request.what,
            "file": f"{folder}/{os.path.basename(path)}",
            "step": step,
            "file_bytes": os.path.getsize(path),
            "stop_ns": time.perf_counter_ns() - begin_ns,
        }
        self._records.write(("capture", ready))

    @staticmethod
    def _new_path(stem: str, suffix: str) -> str:
        path, count = f"{stem}.{suffix}", 1
        while os.path.exists(path):
            count += 1
            path = f"{stem}_{count}.{suffix}"
        return path

    def _fail(self, request: Request, why: object) -> None:
        message = clean(str(why) or type(why).__name__)[:MESSAGE_CHARACTERS]
        fields = {"request": clean(request.name), "what": clean(request.what), "message": message}
        self._records.write(("capture_failed", fields))


# --- hooks in torch ----------------------------------------------------------


class StepFigures:
    """Losses and norms of one step, some perhaps still on their way.

    ``step`` None: not to be shown. ``micro_steps`` None: a loss is missing in the sum.
    """

    def __init__(
        self,
        step: Optional[int],
        micro_steps: Optional[int],
        losses: List[Reading],
        norms: List[Tuple[Reading, bool]],
    ) -> None:
        self._step, self._micro_steps = step, micro_steps
        self._losses, self._norms = losses, norms

    def readings(self) -> List[Reading]:
        """All that has to arrive."""
        return self._losses + [reading for reading, _ in self._norms]

    def records(self, scalars: Scalars) -> List[Record]:
        """The sum of the losses and the last norm; gives every slot back."""
        losses = [scalars.take(reading) for reading in self._losses]
        norms = [(scalars.take(reading), partial) for reading, partial in self._norms]
        if self._step is None:
            return []
        found: List[Record] = []
        if losses and self._micro_steps is not None:
            value = number(sum(losses))
            found.append(("loss", {"step": self._step, "value": value, "micro_steps": self._micro_steps}))
        if norms:
            value = number(norms[-1][0])
            found.append(("grad_norm", {"step": self._step, "value": value, "partial": norms[-1][1]}))
        return found


class Training:
    """What the hooks have seen of the training so far.

    A step ends when the primary optimizer has stepped: the first one that does. A
    second optimizer (GAN, one optimizer per parameter) neither ends a step nor
    lends its losses to the primary one: a loss belongs to the optimizer that steps
    next after its backward pass.
    """

    def __init__(self, records: Records, captures: Captures) -> None:
        self.records = records
        self.captures = captures
        self.torch: Any = None
        self.active = True
        self.step = 0
        self.phase = "start"
        self.cpu_ns = 0
        self.device = "cpu"
        self.device_index: Optional[int] = None
        self._device_known = False
        self._missing: List[str] = []
        self._scalars: Any = None
        self._pending: List[StepFigures] = []
        self._backward_depth = 0
        self._micro_steps = 0
        self._losses: List[Reading] = []
        self._lacks_loss = False
        self._has_scaled = False
        self._norms: List[Tuple[Reading, bool]] = []
        self._backward_ns = 0
        self._primary: Callable[[], Any] = lambda: None
        self._others: Dict[int, int] = {}
        self._optimizer_began_ns: Optional[int] = None
        self._keep_first_loss_after: Optional[int] = None
        self._last_boundary_ns: Optional[int] = None
        self._optimizer_steps = 0

    # installing

    def install(self, torch: Any) -> None:
        """Sets every hook that this torch has a place for; notes the others."""
        self.torch = torch
        self._scalars = Scalars(torch, self.records)
        for name, install in (
            ("torch.autograd.backward", self._hook_backward),
            ("torch.optim step hooks", self._hook_optimizers),
            ("torch.nn.utils.clip_grad_norm_", self._hook_clipping),
            ("torch.nn.utils.get_total_norm", self._hook_total_norm),
            ("torch.amp.GradScaler", self._hook_scaler),
        ):
            try:
                install(torch)
            except (AttributeError, ImportError):
                self._missing.append(name)
        self.device = self._likely_device(torch)
        self._write_torch_facts()

    def _hook_backward(self, torch: Any) -> None:
        original = torch.autograd.backward
        compiling = torch.compiler.is_compiling

        @functools.wraps(original)
        def backward(tensors: Any, *args: Any, **kwargs: Any) -> Any:
            if compiling() or not self.active or self._backward_depth:
                return original(tensors, *args, **kwargs)
            self._before_backward(tensors)
            begin_ns = time.perf_counter_ns()
            self._backward_depth += 1
            try:
                return original(tensors, *args, **kwargs)
            finally:
                self._backward_depth -= 1
                self._backward_ns += time.perf_counter_ns() - begin_ns
                self.phase = "forward"

        torch.autograd.backward = backward

    def _hook_optimizers(self, torch: Any) -> None:
        from torch.optim.optimizer import (
            register_optimizer_step_post_hook,
            register_optimizer_step_pre_hook,
        )

        def before(optimizer: Any, args: Any, kwargs: Any) -> None:
            if self.active:
                self._before_step(optimizer, args, kwargs)

        def after(optimizer: Any, args: Any, kwargs: Any) -> None:
            if self.active:
                self._after_step(optimizer)

        # Not to be traced into a compiled step, where they would run once, at compile time.
        for hook in (before, after):
            hook.__dict__["_torchdynamo_disable"] = True
        register_optimizer_step_pre_hook(before)
        register_optimizer_step_post_hook(after)

    def _hook_clipping(self, torch: Any) -> None:
        module = torch.nn.utils.clip_grad
        clip = self._noting_norm(module.clip_grad_norm_)
        module.clip_grad_norm_ = torch.nn.utils.clip_grad_norm_ = clip

    def _hook_total_norm(self, torch: Any) -> None:
        utils = torch.nn.utils
        utils.get_total_norm = self._noting_norm(utils.get_total_norm)
        clip = utils.clip_grads_with_norm_
        compiling = torch.compiler.is_compiling

        @functools.wraps(clip)
        def clip_with_norm(parameters: Any, max_norm: Any, total_norm: Any, *args: Any, **kwargs: Any) -> Any:
            if not compiling() and self.active:
                self._note_norm(total_norm)
            return clip(parameters, max_norm, total_norm, *args, **kwargs)

        utils.clip_grads_with_norm_ = clip_with_norm

    def hook_fsdp1(self, module: Any) -> None:
        """FSDP1 clips with a method of its own."""
        kind = module.FullyShardedDataParallel
        kind.clip_grad_norm_ = self._noting_norm(kind.clip_grad_norm_)

    def _noting_norm(self, original: Callable[..., Any]) -> Callable[..., Any]:
        compiling = self.torch.compiler.is_compiling

        @functools.wraps(original)
        def norm_function(*args: Any, **kwargs: Any) -> Any:
            norm = original(*args, **kwargs)
            if not compiling() and self.active:
                self._note_norm(norm)
            return norm

        return norm_function

    def _hook_scaler(self, torch: Any) -> None:
        from torch.amp.grad_scaler import GradScaler

        kind: Any = GradScaler
        self._unscale(kind)
        step = kind.step

        @functools.wraps(step)
        def step_or_skip(scaler: Any, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
            steps = self._optimizer_steps
            result = step(scaler, optimizer, *args, **kwargs)
            if self.active and self._optimizer_steps == steps:
                # Infinite gradients: the scaler left the step out, the loop goes on.
                self._after_step(optimizer)
            return result

        kind.step = step_or_skip

    def hook_sharded_scaler(self, module: Any) -> None:
        """FSDP1's scaler has a ``scale`` of its own."""
        self._unscale(module.ShardedGradScaler)

    def _unscale(self, kind: Any) -> None:
        """Makes a scaled loss remember what it was before."""
        scale, torch = kind.scale, self.torch
        compiling = torch.compiler.is_compiling

        @functools.wraps(scale)
        def scale_and_remember(scaler: Any, outputs: Any) -> Any:
            scaled = scale(scaler, outputs)
            if not compiling() and scaled is not outputs:
                self._has_scaled = True
                if isinstance(scaled, torch.Tensor):
                    scaled._unscaled_loss = outputs.detach()
            return scaled

        kind.scale = scale_and_remember

    # what the script does

    def _before_backward(self, tensors: Any) -> None:
        cpu_ns = time.thread_time_ns()
        try:
            self.phase = "backward"
            self._micro_steps += 1
            first = self._keep_first_loss_after
            if first is None or len(self._losses) <= first:
                for tensor in self._tensors(tensors):
                    self._note_loss(tensor)
            self._drain()
        except Exception as error:
            self.records.problem("loss", error)
        self.cpu_ns += time.thread_time_ns() - cpu_ns

    def _tensors(self, tensors: Any) -> Iterator[Any]:
        kind = self.torch.Tensor
        if isinstance(tensors, kind):
            yield tensors
        elif isinstance(tensors, (list, tuple)):
            for tensor in tensors:
                if isinstance(tensor, kind):
                    yield tensor

    def _note_loss(self, tensor: Any) -> None:
        unscaled = getattr(tensor, "_unscaled_loss", None)
        is_scaled = unscaled is None and self._has_scaled
        self._has_scaled = False
        tensor = tensor if unscaled is None else unscaled
        if tensor.numel() != 1 or not tensor.is_floating_point():
            return
        tensor, partial = plain_tensor(tensor, self.torch)
        reading = None
        if is_scaled:
            self.records.problem("loss", "it was changed after it had been scaled and is not shown")
        elif partial:
            self.records.problem("loss", "it is spread over ranks (a partial DTensor) and is not shown")
        elif tensor is not None and tensor.numel() == 1 and len(self._losses) < PENDING_LIMIT:
            if not self._device_known:
                self._note_device(tensor.device)
            reading = self._scalars.read(tensor)
        if reading is None:
            self._lacks_loss = True  # a sum that lacks a part would be a wrong figure
        else:
            self._losses.append(reading)

    def _note_norm(self, norm: Any) -> None:
        cpu_ns = time.thread_time_ns()
        try:
            # The last one counts; of the others only what is under way has to be kept.
            self._norms = [entry for entry in self._norms if isinstance(entry[0], Slot)]
            if isinstance(norm, (int, float)):
                self._norms.append((float(norm), False))
            elif isinstance(norm, self.torch.Tensor) and norm.numel() == 1:
                tensor, partial = plain_tensor(norm, self.torch)
                reading = None if tensor is None or tensor.numel() != 1 else self._scalars.read(tensor)
                if reading is not None:
                    self._norms.append((reading, partial))
        except Exception as error:
            self.records.problem("gradient norm", error)
        self.cpu_ns += time.thread_time_ns() - cpu_ns

    def _before_step(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        primary = self._primary()
        if primary is None or primary is optimizer:
            self.phase = "optimizer"
            # A closure runs the whole forward and backward pass inside the step.
            has_closure = any(callable(argument) for argument in (*args[1:], kwargs.get("closure")))
            self._optimizer_began_ns = None if has_closure else time.perf_counter_ns()
        # LBFGS evaluates its closure many times a step; the first loss is the step's.
        if isinstance(optimizer, self.torch.optim.LBFGS):
            self._keep_first_loss_after = len(self._losses)

    def _after_step(self, optimizer: Any) -> None:
        cpu_ns = time.thread_time_ns()
        self._optimizer_steps += 1
        self._keep_first_loss_after = None
        ended = False
        try:
            rate = self._learning_rate(optimizer)
            # Loading a checkpoint steps once with a rate of 0 to make the optimizer's state.
            ended = (self._micro_steps > 0 or rate != 0) and self._is_primary(optimizer)
            if ended:
                self._end_step(rate)
        except Exception as error:
            self.records.problem("step", error)
        self._put_aside(None)
        self._micro_steps, self._backward_ns = 0, 0
        self.cpu_ns += time.thread_time_ns() - cpu_ns
        if ended:
            try:
                self.captures.at_boundary(self.torch, self.step)
            except Exception as error:
                self.records.problem("capture", error)

    def _is_primary(self, optimizer: Any) -> bool:
        primary = self._primary()
        if primary is optimizer:
            self._others.clear()
            return True
        if primary is not None:
            steps = self._others.get(id(optimizer), 0) + 1
            self._others[id(optimizer)] = steps
            if steps < OTHER_OPTIMIZER_STEPS:
                return False
        self._primary = weakref.ref(optimizer)
        self._others.clear()
        return True

    def _learning_rate(self, optimizer: Any) -> Optional[float]:
        rate = optimizer.param_groups[0].get("lr")
        if isinstance(rate, (int, float)):
            return float(rate)
        if isinstance(rate, self.torch.Tensor) and rate.device.type == "cpu" and rate.numel() == 1:
            return float(rate.item())
        return None

    def _end_step(self, rate: Optional[float]) -> None:
        now_ns = time.perf_counter_ns()
        fields: Fields = {"step": self.step, "micro_steps": self._micro_steps}
        if self._last_boundary_ns is not None:
            fields["step_time_ns"] = now_ns - self._last_boundary_ns
        if self._micro_steps:
            fields["backward_ns"] = self._backward_ns
        if self._optimizer_began_ns is not None:
            fields["optimizer_ns"] = now_ns - self._optimizer_began_ns
        if rate is not None:
            fields["learning_rate"] = number(rate)
        if not self._device_known:
            self._note_device(None)
        fields.update(self.device_memory())
        self._put_aside(self.step)
        self._drain(("step", fields))
        self._last_boundary_ns = now_ns
        self._optimizer_began_ns = None
        self.step += 1
        self.phase = "forward"

    def _put_aside(self, step: Optional[int]) -> None:
        """Keeps the figures of a step until they have arrived; None: not to be shown."""
        if self._losses or self._norms:
            micro_steps = None if self._lacks_loss else self._micro_steps
            self._pending.append(StepFigures(step, micro_steps, self._losses, self._norms))
            self._losses, self._norms = [], []
        self._lacks_loss = False

    def _drain(self, *records: Record) -> None:
        """Writes the figures that have arrived, oldest step first, then ``records``."""
        found: List[Record] = []
        while self._pending and not self._scalars.capturing():
            if not all(self._scalars.arrived(reading) for reading in self._pending[0].readings()):
                break
            found.extend(self._pending.pop(0).records(self._scalars))
        if found or records:
            self.records.write(*found, *records)

    def settle(self, patience_s: float = 1.0) -> None:
        """At the script's end: gives figures under way a moment to arrive."""
        try:
            end_s = time.monotonic() + patience_s
            while self._pending and time.monotonic() < end_s:
                self._drain()
                if self._pending:
                    time.sleep(0.005)
        except Exception as error:
            self.records.problem("loss", error)

    # the device

    @staticmethod
    def _likely_device(torch: Any) -> str:
        """A guess that touches no driver: forks and later settings must still work."""
        is_hidden = os.environ.get("CUDA_VISIBLE_DEVICES") == ""
        drivers = ["/dev/nvidiactl", "/dev/dxg"] if torch.version.cuda else []
        if getattr(torch.version, "hip", None):
            drivers = ["/dev/kfd"]
        return "cuda" if not is_hidden and any(map(os.path.exists, drivers)) else "cpu"

    def _note_device(self, device: Any) -> None:
        """The first backward pass shows what the rank computes on."""
        self._device_known = True
        likely = self.device
        if device is None:
            self.device = "cuda" if self.torch.cuda.is_initialized() else "cpu"
        else:
            self.device = device.type if device.type in ("cuda", "mps") else "cpu"
        if self.device == "cuda":
            has_index = device is not None and device.index is not None
            self.device_index = device.index if has_index else self.torch.cuda.current_device()
        if self.device != "cpu" or likely != "cpu":
            self._write_torch_facts()

    def _write_torch_facts(self) -> None:
        torch = self.torch
        fields: Fields = {
            "torch": str(torch.__version__),
            "cuda": torch.version.cuda or getattr(torch.version, "hip", None),
            "device": self.device,
            "missing_hooks": self._missing,
        }
        try:
            if torch.version.cuda:
                fields["nccl"] = ".".join(str(part) for part in torch.cuda.nccl.version())
            if self.device_index is not None:
                properties = torch.cuda.get_device_properties(self.device_index)
                fields["device_name"] = clean(properties.name)
                if hasattr(properties, "uuid"):
                    identity = str(properties.uuid)
                    fields["device_uuid"] = identity if "GPU-" in identity else f"GPU-{identity}"
        except Exception as error:
            self.records.problem("device", error)
        self.records.write(("torch", fields))

    def device_memory(self) -> Fields:
        """Memory figures of the device allocator; none on the CPU. Any thread."""
        if self.device == "cuda" and self.device_index is not None:
            stats = self.torch.cuda.memory_stats_as_nested_dict(self.device_index)
            if stats:
                allocated = stats["allocated_bytes"]["all"]
                return {
                    "allocated_bytes": allocated["current"],
                    "reserved_bytes": stats["reserved_bytes"]["all"]["current"],
                    "peak_bytes": allocated["peak"],
                    "alloc_retries": stats["num_alloc_retries"],
                    "ooms": stats["num_ooms"],
                }
        if self.device == "mps":
            mps = self.torch.mps
            return {
                "allocated_bytes": mps.current_allocated_memory(),
                "reserved_bytes": mps.driver_allocated_memory(),
            }
        return {}


def hide_from_compiler(module: Any) -> None:
    """Keeps torch.compile from compiling the agent's functions when it meets them.

    Where it traces through them they step aside by themselves; a frame of theirs
    that it meets after a graph break must run as it is.
    """
    own_file = without_agent.__code__.co_filename

    def skip_all(code: types.CodeType) -> None:
        module.skip_code(code)
        for constant in code.co_consts:
            if isinstance(constant, types.CodeType):
                skip_all(constant)

    for value in list(globals().values()):
        for function in list(vars(value).values()) if isinstance(value, type) else [value]:
            code = getattr(function, "__code__", None)
            if code is not None and code.co_filename == own_file:
                skip_all(code)


class ImportWatch:
    """Calls an action right after the script has imported a module.

    Stands first in ``sys.meta_path``; the module's own loader does the work.
    """

    def __init__(self, records: Records, actions: Dict[str, Callable[[Any], None]]) -> None:
        self._records = records
        self._actions = actions

    def start(self) -> None:
        """Begins to watch; a module that is there already is acted on at once."""
        for name in list(self._actions):
            if name in sys.modules:
                self._act(name, sys.modules[name])
        sys.meta_path.insert(0, self)

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        """Lets the other finders find a watched module and wraps its loading."""
        if name not in self._actions:
            return None
        for finder in list(sys.meta_path):
            find = getattr(finder, "find_spec", None)
            spec = find(name, path, target) if find and finder is not self else None
            if spec is not None:
                self._wrap(name, spec.loader)
                return spec
        return None

    def _wrap(self, name: str, loader: Any) -> None:
        execute = getattr(loader, "exec_module", None)
        if execute is None:
            return

        def exec_module(module: Any) -> None:
            del loader.exec_module
            execute(module)
            self._act(name, module)

        try:
            loader.exec_module = exec_module
        except AttributeError as error:
            self._records.problem(f"hooks in {name}", error)

    def _act(self, name: str, module: Any) -> None:
        action = self._actions.pop(name, None)
        if action is None:
            return
        try:
            action(module)
        except Exception as error:
            self._records.problem(f"hooks in {name}", error)


# --- heartbeat and requests --------------------------------------------------


class Watch:
    """A daemon thread: a heartbeat twice a second, and new requests."""

    def __init__(self, records: Records, training: Training, captures: Captures, folder: str) -> None:
        self._records, self._training, self._captures = records, training, captures
        self._control = os.path.join(folder, "control.jsonl")
        self._offset = 0
        self._memory = ResidentMemory()
        try:
            self._heartbeat_s = max(0.05, float(os.environ.get("RIDGELINE_HEARTBEAT_S", HEARTBEAT_S)))
        except ValueError:
            self._heartbeat_s = HEARTBEAT_S
        self._next_beat_s = 0.0
        self._pause = threading.Event()
        self._thread: Optional[threading.Thread] = None
        self.cpu_ns = 0

    def start(self, skip_old_requests: bool) -> None:
        """Begins; a restarted rank must not answer what its predecessor was asked."""
        if skip_old_requests and os.path.exists(self._control):
            self._offset = os.path.getsize(self._control)
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(before=self.pause, after_in_parent=self.resume)
        self.resume()

    def pause(self) -> None:
        """Ends the thread before a fork: a child must not inherit a lock that it holds."""
        thread, self._thread = self._thread, None
        if thread is not None and thread is not threading.current_thread():
            self._pause.set()
            thread.join(1.0)

    def resume(self) -> None:
        """Goes on in this process."""
        if self._thread is None and not self._records.closed:
            self._pause.clear()
            self._thread = threading.Thread(target=self._run, name="ridgeline-agent", daemon=True)
            self._thread.start()

    def _run(self) -> None:
        cpu_ns = self.cpu_ns
        while not self._records.closed:
            try:
                if time.monotonic() >= self._next_beat_s:
                    self._next_beat_s = time.monotonic() + self._heartbeat_s
                    self._beat()
                self._read_requests()
            except Exception as error:
                self._records.problem("heartbeat", error)
            self.cpu_ns = cpu_ns + time.thread_time_ns()
            if self._pause.wait(min(TICK_S, self._heartbeat_s)):
                break

    def _beat(self) -> None:
        training = self._training
        fields: Fields = {
            "step": training.step,
            "phase": training.phase,
            "resident_bytes": self._memory.read_bytes(),
            "agent_cpu_ns": self.cpu_ns + training.cpu_ns,
        }
        memory = training.device_memory()
        fields.update((name, memory[name]) for name in BEAT_MEMORY if name in memory)
        self._records.write(("heartbeat", fields))

    def _read_requests(self) -> None:
        try:
            if os.stat(self._control).st_size <= self._offset:
                return
        except OSError:
            return
        with open(self._control, "rb") as file:
            file.seek(self._offset)
            data = file.read(1 << 20)
        whole = data[: data.rfind(b"\n") + 1]
        self._offset += len(whole)
        for line in whole.splitlines():
            if not line.strip():
                continue  # a writer begins with a newline, lest another one was torn
            try:
                fields = json.loads(line)
                if fields.get("kind") == "capture_request":
                    self._captures.ask(fields, self._training.step)
            except (ValueError, TypeError, AttributeError) as error:
                self._records.problem("control file", error)


# --- errors, as plain Python would show them ---------------------------------


def without_agent(error: BaseException, seen: Optional[Set[int]] = None) -> None:
    """Takes the agent's and the import system's frames out of a traceback.

    Also out of the tracebacks of its causes and of the members of a group.
    """
    seen = set() if seen is None else seen
    if id(error) in seen:
        return
    seen.add(id(error))
    own_file = without_agent.__code__.co_filename
    entries, entry = [], error.__traceback__
    while entry is not None:
        name = entry.tb_frame.f_code.co_filename
        if name != own_file and not name.startswith("<frozen importlib"):
            entries.append(entry)
        entry = entry.tb_next
    kept = None
    for entry in reversed(entries):
        kept = types.TracebackType(kept, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    error.__traceback__ = kept
    for other in (error.__cause__, error.__context__, *getattr(error, "exceptions", ())):
        if isinstance(other, BaseException):
            without_agent(other, seen)


def is_out_of_memory(error: BaseException) -> bool:
    """Whether the host or a device had no memory left."""
    torch = sys.modules.get("torch")
    kinds: List[Any] = [MemoryError, getattr(getattr(torch, "cuda", None), "OutOfMemoryError", None)]
    if any(kind is not None and isinstance(error, kind) for kind in kinds):
        return True
    text = str(error)
    return isinstance(error, RuntimeError) and ("out of memory" in text or "can't allocate memory" in text)


def exception_fields(error: BaseException, step: int) -> Fields:
    """The record of an exception whose traceback has been cleaned."""
    import traceback

    kind = type(error)
    name = kind.__qualname__
    if kind.__module__ not in ("builtins", "__main__"):
        name = f"{kind.__module__}.{name}"
    try:
        message = str(error)
    except Exception:
        message = "(its message cannot be shown)"
    text = "".join(traceback.format_exception(kind, error, error.__traceback__))
    return {
        "type": clean(name),
        "message": clean(message)[:MESSAGE_CHARACTERS],
        "traceback": clean(text)[-TRACEBACK_CHARACTERS:],
        "step": step,
        "out_of_memory": is_out_of_memory(error),
    }


def write_error_file(fields: Fields) -> None:
    """Tells torchrun the reason, unless the script's own ``@record`` has done so.

    Source: torch/distributed/elastic/multiprocessing/errors/error_handler.py, 2.13.
    """
    path = os.environ.get("TORCHELASTIC_ERROR_FILE")
    if not path or os.path.exists(path):
        return
    extra = {"py_callstack": fields["traceback"], "timestamp": str(int(time.time()))}
    text = f"{fields['type']}: {fields['message']}"
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"message": {"message": text, "extraInfo": extra}}, file)
    except OSError:
        pass  # torchrun then prints its own, shorter summary


def exit_code_of(end: SystemExit) -> int:
    """The exit code that Python gives for a SystemExit."""
    if end.code is None:
        return 0
    return int(end.code) if isinstance(end.code, int) else 1


def says_why(end: SystemExit) -> bool:
    """Whether it holds words instead of an exit code: Python prints them and exits with 1."""
    return end.code is not None and not isinstance(end.code, int)


# --- running the script as Python itself would -------------------------------


class RefusedError(Exception):
    """The target cannot be started; Python would print one line and exit."""

    def __init__(self, message: str, exit_code: int, error: BaseException) -> None:
        super().__init__(message)
        self.exit_code = exit_code
        self.error = error


def new_main() -> types.ModuleType:
    """Puts an empty ``__main__`` in the place of the agent."""
    module = types.ModuleType("__main__")
    names: Fields = {"__builtins__": builtins}
    if sys.version_info < (3, 14):
        names.update(__annotations__={}, __cached__=None)
    module.__dict__.update(names)
    sys.modules["__main__"] = module
    return module


def load_script(path: str, module: types.ModuleType) -> Any:
    """Reads a script, a folder or a zip with a ``__main__.py``.

    Raises:
        RefusedError: There is none.
    """
    from importlib.machinery import PathFinder, SourceFileLoader, SourcelessFileLoader

    full = os.path.abspath(path)
    spec = PathFinder.find_spec("__main__", [full])
    if spec is not None and spec.loader is not None:
        set_search_path(full)
        fill_main(module, spec)
        module.__package__ = ""
        loader: Any = spec.loader
        return loader.get_code("__main__")
    if os.path.isdir(path):
        message = f"can't find '__main__' module in {full!r}"
        raise RefusedError(message, 1, FileNotFoundError(message))
    set_search_path(os.path.dirname(os.path.realpath(path)))
    is_compiled = path.endswith(".pyc")
    loader = SourcelessFileLoader("__main__", full) if is_compiled else SourceFileLoader("__main__", full)
    module.__file__, module.__loader__, module.__package__ = full, loader, None
    try:
        if is_compiled:
            return loader.get_code("__main__")
        source = loader.get_data(full)
    except OSError as error:
        reason = f"can't open file {full!r}: [Errno {error.errno}] {error.strerror}"
        raise RefusedError(reason, 2, error) from None
    return compile(source, full, "exec", dont_inherit=True)


def load_module(name: str, module: types.ModuleType) -> Any:
    """Finds a module as ``python -m`` does, importing its parents.

    Raises:
        RefusedError: There is no such module, or it cannot be run.
    """
    import importlib.util

    set_search_path(os.getcwd())
    sys.argv[0] = "-m"
    message = f"No module named {name}"
    error = ModuleNotFoundError(message, name=name)
    parent = name.rpartition(".")[0]
    spec = None
    try:
        if parent:
            importlib.import_module(parent)
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.submodule_search_locations is not None:
            importlib.import_module(name)
            message = (
                f"No module named {name}.__main__; {name!r} is a package and cannot be directly executed"
            )
            name += ".__main__"
            spec = importlib.util.find_spec(name)
    except ModuleNotFoundError as missing:
        if missing.name is None or not f"{name}.".startswith(f"{missing.name}."):
            raise  # an import inside the package failed
        reason = f"({type(missing).__name__}: {missing})"
        message = f"Error while finding module specification for {name!r} {reason}"
        error = missing
    if spec is None or spec.loader is None:
        raise RefusedError(message, 1, error)
    code = spec.loader.get_code(name)  # type: ignore[attr-defined]  # checked below
    if code is None:
        raise RefusedError(f"No code object available for {name}", 1, error)
    fill_main(module, spec)
    sys.argv[0] = str(spec.origin)
    return code


def fill_main(module: types.ModuleType, spec: Any) -> None:
    """Gives ``__main__`` what its spec says."""
    module.__spec__, module.__loader__ = spec, spec.loader
    module.__file__, module.__package__ = spec.origin, spec.parent
    module.__dict__["__cached__"] = spec.cached


def set_search_path(folder: str) -> None:
    """Puts the script's folder where the agent's was, as plain Python would."""
    own = os.path.dirname(os.path.abspath(set_search_path.__code__.co_filename))
    if getattr(sys.flags, "safe_path", False):
        return
    if sys.path and os.path.abspath(sys.path[0]) == own:
        sys.path[0] = folder
    else:
        sys.path.insert(0, folder)


def hide_agent() -> None:
    """Makes argv what it would be without the agent."""
    agent = sys.argv.pop(0)
    original = getattr(sys, "orig_argv", [])
    if agent in original:
        original.remove(agent)


def run_target(is_module: bool, target: str) -> None:
    """Runs the script in a ``__main__`` of its own; raises what it raises."""
    module = new_main()
    code = load_module(target, module) if is_module else load_script(target, module)
    exec(code, module.__dict__)  # noqa: S102  # running the user's script is the agent's task


class Rank:
    """This process: its record, its script and its end."""

    def __init__(self, folder: str) -> None:
        self._rank = int(os.environ.get("RANK", "0"))
        self._folder = folder
        self._exit_code = 0
        for name in ("ranks", "logs"):
            os.makedirs(os.path.join(folder, name), mode=0o700, exist_ok=True)
        self._records = Records(os.path.join(folder, "ranks", f"{self._rank}.jsonl"))
        self._captures = Captures(self._records, folder, self._rank)
        self._training = Training(self._records, self._captures)
        self._watch = Watch(self._records, self._training, self._captures, folder)

    def start(self) -> None:
        """Everything that precedes the script."""
        restart = int(os.environ.get("TORCHELASTIC_RESTART_COUNT", "0"))
        has_uname = hasattr(os, "uname")
        fields = {
            "wire": WIRE_VERSION,
            "rank": self._rank,
            "local_rank": int(os.environ.get("LOCAL_RANK", self._rank)),
            "world_size": int(os.environ.get("WORLD_SIZE", "1")),
            "pid": os.getpid(),
            "create_time_s": create_time_s(),
            "host": clean(os.uname().nodename if has_uname else os.environ.get("COMPUTERNAME", "")),
            "python": sys.version.split()[0],
            "argv": [clean(argument) for argument in sys.argv[1:]],
            "cwd": clean(os.getcwd()),
            "restart": restart,
        }
        self._records.write(("start", fields))
        self._redirect_output()
        self._ask_for_profile()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._leave_child_alone)
        atexit.register(self._end)
        self._watch.start(skip_old_requests=restart > 0)
        training = self._training
        actions = {
            "torch": training.install,
            "torch._dynamo.eval_frame": hide_from_compiler,
            "torch.distributed.fsdp.fully_sharded_data_parallel": training.hook_fsdp1,
            "torch.distributed.fsdp.sharded_grad_scaler": training.hook_sharded_scaler,
        }
        ImportWatch(self._records, actions).start()

    def _redirect_output(self) -> None:
        """Sends output to files: a pipe whose reader stalls would stall the training."""
        try:
            for name, descriptor, suffix in (("stdout", 1, "out"), ("stderr", 2, "err")):
                stream = getattr(sys, name)
                path = os.path.join(self._folder, "logs", f"{self._rank}.{suffix}")
                file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
                if stream is not None:
                    stream.flush()
                os.dup2(file, descriptor)
                os.close(file)
                if isinstance(stream, io.TextIOWrapper):
                    stream = unfailing(stream, descriptor, self._records)
                    setattr(sys, name, stream)
                    setattr(sys, f"__{name}__", stream)
        except OSError as error:
            self._records.problem("log files", error)

    def _ask_for_profile(self) -> None:
        plan = os.environ.get("RIDGELINE_PROFILE")
        if plan:
            try:
                self._captures.ask({**json.loads(plan), "request": "profile", "what": "trace"}, 0)
            except (ValueError, TypeError) as error:
                self._records.problem("RIDGELINE_PROFILE", error)

    def _leave_child_alone(self) -> None:
        self._training.active = False
        self._records.closed = True

    def run(self, is_module: bool, target: str) -> None:
        """Runs the script; ends the process as plain Python would."""
        try:
            run_target(is_module, target)
        except SystemExit as end:
            self._exit_code = exit_code_of(end)
            if says_why(end):
                without_agent(end)
                self._records.write(("exception", exception_fields(end, self._training.step)))
            raise
        except RefusedError as refused:
            self._exit_code = refused.exit_code
            self._write_exception(refused.error)
            print(f"{sys.executable}: {refused}", file=sys.stderr)
            sys.exit(refused.exit_code)
        except BaseException as error:
            # Python ends a process that it interrupts with the signal itself.
            self._exit_code = -2 if isinstance(error, KeyboardInterrupt) else 1
            without_agent(error)
            self._write_exception(error)
            sys.excepthook(type(error), error, error.__traceback__)
            sys.excepthook = lambda *_: None  # shown; the interpreter still has to end by it
            raise
        finally:
            self._training.phase = "idle"
            self._training.settle()
            self._captures.give_up(self._training.step)

    def _write_exception(self, error: BaseException) -> None:
        fields = exception_fields(error, self._training.step)
        self._records.write(("exception", fields))
        if not self._records.closed:
            write_error_file(fields)

    def _end(self) -> None:
        fields = {
            "exit_code": self._exit_code,
            "steps": self._training.step,
            "lost_records": self._records.lost,
            "agent_cpu_ns": self._watch.cpu_ns + self._training.cpu_ns,
        }
        self._records.close(("end", fields))


def main() -> None:
    """Starts recording, then hands the process to the script."""
    if len(sys.argv) < 2 or (sys.argv[1] == "-m" and len(sys.argv) < 3):
        sys.exit("usage: rank_agent.py SCRIPT [ARGS...] | -m MODULE [ARGS...]")
    rank = None
    folder = os.environ.get("RIDGELINE_RUN_DIR")
    try:
        if folder:
            rank = Rank(os.path.abspath(folder))
            rank.start()
    except Exception as error:
        print(f"ridgeline: this rank is not recorded: {error}", file=sys.stderr)
    hide_agent()
    is_module = sys.argv[0] == "-m"
    if is_module:
        del sys.argv[0]
    if rank is None:
        run_target(is_module, sys.argv[0])
    else:
        rank.run(is_module, sys.argv[0])


if __name__ == "__main__":
    main()

"""One rank as its records tell it: the newest figures, its curves, and what the diagnoses need.

Takes records one by one and remembers little; it reads no file and draws no
conclusion.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from core.runs.rank_facts import Phase, RaisedError, RankFacts
from core.runs.snapshot import Capture, RankState, RankStatus
from core.telemetry.events import (
    WIRE_VERSION,
    AgentProblem,
    CaptureFailed,
    CaptureReady,
    CaptureStarted,
    Event,
    GradNorm,
    Heartbeat,
    Loss,
    RankEnded,
    RankException,
    RankStarted,
    Step,
    TorchReady,
)
from core.units import GIB

if TYPE_CHECKING:
    from core.runs.curves import Curves
    from core.runs.loss_watch import LossWatch
    from core.runs.stack_text import Place
    from core.runs.stragglers import StepTable
    from core.telemetry.log_lines import LoggedLoss

LossSource = Literal["log", "autograd", "rule"]
_AUTHORITY: dict[LossSource | None, int] = {None: 0, "log": 1, "autograd": 2, "rule": 3}


class RankTrack:
    """What is known of one rank.

    Attributes:
        rank: Global rank.
        pid: Of its newest process.
        create_time_s: Of that process, as ``core.runs.identity`` has it; None if its record lacks it.
        local_rank: On its machine.
        device: "cuda", "cpu", "mps"; None before torch is there.
        device_uuid: Of its GPU, if the agent could tell.
        captures: By request, the newest state of each.
        problems: The agent's own, message -> count.
    """

    def __init__(
        self, rank: int, created_ns: int, curves: Curves, losses: LossWatch, steps: StepTable
    ) -> None:
        self.rank = rank
        self.pid: int | None = None
        self.create_time_s: float | None = None
        self.local_rank = rank
        self.device: str | None = None
        self.device_uuid: str | None = None
        self._missing_hooks: tuple[str, ...] = ()
        self.captures: dict[str, Capture] = {}
        self.problems: dict[str, int] = {}
        self.ended_ns: int | None = None
        self.exit_code: int | None = None
        self.error: RaisedError | None = None
        self.heartbeat_ns: int | None = None
        self.progress_ns: int | None = None
        self.arrived_ns: int | None = None
        self.place: Place | None = None
        self.stack = ""
        self.stands = False
        self._created_ns = created_ns
        self._curves = curves
        self._losses = losses
        self._steps = steps
        self._starts = 0
        self._started_ns: int | None = None
        self._lost_records = 0
        self._traceback: str | None = None
        self._phase: Phase = "start"
        self._steps_done: int | None = None
        self._log_step: int | None = None
        self._log_offset = 0
        self._file_steps: dict[tuple[int | None, str], int] = {}
        self._has_output = False
        self._source: LossSource | None = None
        self._loss: tuple[int | None, float] | None = None
        self._step: Step | None = None
        self._own_ns: int | None = None
        self._norm: GradNorm | None = None
        self._memory: Step | Heartbeat | None = None
        self._resident_bytes: int | None = None
        self._logged_peak_bytes: int | None = None
        self.driver_bytes: int | None = None
        self.gpu_index: int | None = None
        self.gpu_uuid: str | None = None

    # --- records ---

    def take(self, event: Event) -> None:
        """Takes the next record of the rank's file."""
        self.heartbeat_ns = event.t_ns
        match event:
            case Heartbeat():
                self._take_heartbeat(event)
            case Step():
                self._take_step(event)
            case Loss():
                self._take_loss(event.step, float(event.value), event.t_ns, "autograd")
            case GradNorm():
                self._norm = event
                self._curves.add("grad_norm", self.rank, event.step, float(event.value))
            case CaptureStarted() | CaptureReady() | CaptureFailed():
                self._take_capture(event)
            case _:
                self._take_rare(event)

    def _take_rare(self, event: Event) -> None:
        match event:
            case RankStarted():
                self._take_start(event)
            case TorchReady():
                self.device, self.device_uuid = event.device, event.device_uuid
                self._missing_hooks = tuple(event.missing_hooks)
                self.progress_ns = event.t_ns
            case RankException():
                self._take_exception(event)
            case AgentProblem():
                self.problems[event.message] = self.problems.get(event.message, 0) + 1
            case RankEnded():
                self.ended_ns, self.exit_code = event.t_ns, event.exit_code
                self._lost_records = event.lost_records

    def _take_start(self, event: RankStarted) -> None:
        self._starts += 1
        self._started_ns = event.t_ns
        self.pid, self.create_time_s, self.local_rank = event.pid, event.create_time_s, event.local_rank
        self.progress_ns = event.t_ns
        self.ended_ns = self.exit_code = self.error = self._traceback = None
        self._phase, self._steps_done, self.arrived_ns = "start", None, event.t_ns
        self.place, self.stack, self.stands = None, "", False
        if event.wire > WIRE_VERSION:
            self.problems[f"its records are of a newer version ({event.wire})"] = 1

    def _take_heartbeat(self, event: Heartbeat) -> None:
        if (event.step, event.phase) != (self._steps_done, self._phase):
            self.arrived_ns = event.t_ns
        self._phase = event.phase
        self._steps_done = event.step
        x = self._seconds(event.t_ns)
        if event.resident_bytes is not None:
            self._resident_bytes = event.resident_bytes
            self._curves.add("resident", self.rank, x, event.resident_bytes / GIB)
        self._take_memory(event)

    def _take_memory(self, event: Step | Heartbeat) -> None:
        if event.allocated_bytes is None:
            return
        self._memory = event
        x = self._seconds(event.t_ns)
        self._curves.add("allocated", self.rank, x, event.allocated_bytes / GIB)
        if event.reserved_bytes is not None:
            self._curves.add("reserved", self.rank, x, event.reserved_bytes / GIB)

    def _take_step(self, event: Step) -> None:
        self._step = event
        self._steps_done = event.step + 1
        self._phase = "forward"
        self.arrived_ns = event.t_ns
        self._moved(event.t_ns)
        x = event.step
        if event.step_time_ns is not None:
            self._curves.add("step_time", self.rank, x, event.step_time_ns / 1e6)
        if event.learning_rate is not None:
            self._curves.add("learning_rate", self.rank, x, event.learning_rate)
        self._steps.add(self.rank, event.step, event.step_time_ns, event.backward_ns)
        self._take_memory(event)

    def _take_exception(self, event: RankException) -> None:
        self.error = RaisedError(
            type=event.type,
            message=event.message,
            step=event.step or None,
            t_ns=event.t_ns,
            out_of_memory=event.out_of_memory,
        )
        self._traceback = event.traceback

    def _take_capture(self, event: CaptureStarted | CaptureReady | CaptureFailed) -> None:
        known = self.captures.get(event.request)
        what = known.what if known is not None else "trace"
        capture = Capture(request=event.request, what=what, rank=self.rank, state="running", t_ns=event.t_ns)
        if isinstance(event, CaptureStarted):
            capture = replace(capture, step=event.step)
        elif isinstance(event, CaptureReady):
            capture = replace(
                capture,
                what=event.what,
                state="ready",
                file=event.file,
                step=event.step,
                file_bytes=event.file_bytes,
            )
        else:
            capture = replace(capture, what=event.what, state="failed", message=event.message)
        self.captures[event.request] = capture

    # --- losses ---

    def take_logged(self, found: LoggedLoss, t_ns: int, source: Literal["log", "rule"]) -> None:
        """Takes a loss that the rank's output names.

        Steps that begin again (with each epoch) go on from where they were. A step
        that is earlier only than what another file has said came late and is left out.
        """
        if found.peak_bytes is not None:
            self._logged_peak_bytes = max(found.peak_bytes, self._logged_peak_bytes or 0)
        if found.step is not None and found.step != self._log_step:
            self._log_step = found.step
            if not self._steps_done and self._phase == "start":
                self.arrived_ns = t_ns
        if _AUTHORITY[source] < _AUTHORITY[self._source]:
            return
        last_x = self._curves.last_x("loss", self.rank) if self._source == source else None
        if found.step is None:
            x = 0.0 if last_x is None else last_x + 1
        else:
            x = float(found.step + self._log_offset)
            if last_x is not None and x < last_x:
                if found.step >= self._file_steps.get(found.file, -1):
                    self._file_steps[found.file] = found.step
                    return
                self._log_offset = int(last_x) + (0 if found.step else 1)
                x = float(found.step + self._log_offset)
            self._file_steps[found.file] = found.step
        if last_x == x and self._loss == (found.step, found.value):
            return  # a progress bar that was drawn again
        self._take_loss(int(x), found.value, t_ns, source, found.step)

    def _take_loss(
        self, x: int, value: float, t_ns: int, source: LossSource, shown_step: int | None = None
    ) -> None:
        if _AUTHORITY[source] < _AUTHORITY[self._source]:
            return
        if source != self._source:
            self._source = source
            self._curves.clear("loss", self.rank)
            self._losses.forget(self.rank)
        self._loss = (x if source == "autograd" else shown_step, value)
        self._moved(t_ns)
        self._curves.add("loss", self.rank, x, value)
        self._losses.add(self.rank, x if shown_step is None else shown_step, value, t_ns)

    def saw_output(self, t_ns: int) -> None:
        """Its log has grown."""
        self._has_output = True
        self._moved(t_ns)

    def _moved(self, t_ns: int) -> None:
        if self.progress_ns is None or t_ns > self.progress_ns:
            self.progress_ns = t_ns
            if self.place is not None:
                self.place, self.stack, self.stands = None, "", False

    @property
    def finds_losses_in_output(self) -> bool:
        """Losses in its output are of use: autograd shows none."""
        return self._source in {None, "log", "rule"}

    def take_own_time(self, step: int, own_ns: float) -> None:
        """Takes its own time of a step, where that can be known."""
        self._own_ns = round(own_ns)
        self._curves.add("own_time", self.rank, step, own_ns / 1e6)

    def own_time_is_unknown(self) -> None:
        """Nothing can be said of its own time now."""
        self._own_ns = None

    def take_stack(self, stack: str, place: Place | None, t_ns: int) -> None:
        """Takes what a stacks capture shows, unless it has moved since."""
        if self.progress_ns is not None and t_ns < self.progress_ns:
            return
        self.stands = bool(stack) and stack == self.stack
        self.stack, self.place = stack, place

    # --- what is known ---

    def _seconds(self, t_ns: int) -> float:
        return (t_ns - self._created_ns) / 1e9

    @property
    def step_time_ns(self) -> int | None:
        """Of the newest step."""
        return None if self._step is None else self._step.step_time_ns

    @property
    def output_step_ns(self) -> float | None:
        """Average time of a step, from the steps that its output names and when it began and moved."""
        if not self._log_step or self.progress_ns is None or self._started_ns is None:
            return None
        return (self.progress_ns - self._started_ns) / (self._log_step + 1)

    @property
    def alloc_retries(self) -> int:
        """Times that the allocator had to give memory back to the device to go on."""
        return (self._step.alloc_retries or 0) if self._step is not None else 0

    @property
    def last_step(self) -> int | None:
        """Newest step that it ended, or that its output names."""
        return self._step.step if self._step is not None else self._log_step

    def facts(self, exit_code: int | None, *, process_gone: bool, signalled: bool) -> RankFacts:
        """What the diagnoses need; ``exit_code`` is the supervisor's, which beats the agent's."""
        working = bool(self._steps_done) or self._loss is not None or self._has_output
        error = self.error
        if error is not None and error.step is None:
            # A script without an optimizer: its output names the step.
            error = replace(error, step=self._log_step)
        return RankFacts(
            rank=self.rank,
            started=self._starts > 0,
            working=working or self._phase != "start",
            step=self._steps_done,
            log_step=self._log_step,
            phase=self._phase,
            progress_ns=self.progress_ns,
            arrived_ns=self.arrived_ns,
            heartbeat_ns=self.heartbeat_ns,
            process_gone=process_gone,
            error=error,
            exit_code=exit_code if exit_code is not None else self.exit_code,
            ended_ns=self.ended_ns,
            signalled=signalled,
            place=self.place,
            stands=self.stands,
        )

    def state(
        self, facts: RankFacts, status: RankStatus, sequence: tuple[int | None, int | None, int]
    ) -> RankState:
        """The rank as it is shown; ``sequence`` is (first, last, lost) of its file."""
        step, memory, norm = self._step, self._memory, self._norm
        shown_stack = self.stack if status is RankStatus.SILENT and self.stack else None
        return RankState(
            rank=self.rank,
            status=status,
            pid=self.pid,
            device=self.device,
            gpu_index=self.gpu_index,
            gpu_uuid=self.gpu_uuid,
            step=self.last_step,
            loss=None if self._loss is None else self._loss[1],
            loss_step=None if self._loss is None else self._loss[0],
            loss_source=self._source,
            step_time_ns=self.step_time_ns,
            own_ns=self._own_ns,
            grad_norm=None if norm is None else float(norm.value),
            grad_norm_partial=norm is not None and norm.partial,
            learning_rate=None if step is None else step.learning_rate,
            resident_bytes=self._resident_bytes,
            allocated_bytes=None if memory is None else memory.allocated_bytes,
            reserved_bytes=None if memory is None else memory.reserved_bytes,
            peak_bytes=memory.peak_bytes if memory is not None else self._logged_peak_bytes,
            driver_bytes=self.driver_bytes,
            alloc_retries=None if step is None else step.alloc_retries,
            ooms=None if step is None else step.ooms,
            exception=None if self.error is None else f"{self.error.type}: {self.error.message}",
            traceback=self._traceback or shown_stack,
            exit_code=facts.exit_code,
            last_sign_ns=self.heartbeat_ns,
            first_sequence=sequence[0],
            last_sequence=sequence[1],
            lost_records=max(sequence[2], self._lost_records),
            restarts=max(0, self._starts - 1),
            missing_hooks=self._missing_hooks,
        )

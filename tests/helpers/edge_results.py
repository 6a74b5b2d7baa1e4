"""Edge results that are made up: for widgets only, no figure in them was measured anywhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from core.edge.backend import EdgeTarget
from core.edge.events import Ceiling, Dispatch, ProviderCount
from core.edge.result import Agreement, CaseResult, EdgeProblem, EdgeResult

if TYPE_CHECKING:
    from core.edge.backend import Api
    from core.edge.result import EdgeState

GPU, INTEGRATED, SOFTWARE, CPU = (
    "Made-up GPU 4000",
    "Made-up Integrated 7",
    "llvmpipe (LLVM 15.0.6, 256 bits)",
    "CPU, 16 threads",
)
_START_NS = 1_800_000_000_000_000_000


def made_target(
    name: str, key: str, *, api: Api = "CPU", software: bool = False, default: bool = False
) -> EdgeTarget:
    """A target without facts of a driver."""
    return EdgeTarget(key=key, name=name, api=api, software=software, default=default)


def made_result(
    number: int,
    *,
    state: EdgeState = "agrees",
    backend: str = "iree",
    device: str = GPU,
    device_key: str = "vulkan:0",
    software: bool = False,
    warm_s: float = 1.84e-3,
    error: float = 2.1e-6,
    precision: str = "fp32",
) -> EdgeResult:
    """A result; ``number`` makes it newer and gives it its id."""
    believed = state == "agrees"
    agreement = Agreement(
        max_abs_error=error,
        rel_error=error / 2,
        argmax_agreement=1.0 if state != "disagrees" else 0.016,
        nan_count=0,
        tolerance=1e-4,
        agrees=state != "disagrees",
        why="" if state != "disagrees" else "The largest difference is 0.43 of the largest element.",
    )
    case = CaseResult(
        case="prefill-128",
        tokens=128,
        first_call_s=40 * warm_s,
        warm_calls_s=tuple(warm_s * (1 + 0.01 * step) for step in (-3, -2, -1, 0, 1, 2, 4)),
        agreement=agreement,
        flops=1_300_000_000,
    )
    ran = state in ("agrees", "disagrees", "ran_elsewhere", "impossible")
    result = EdgeResult(
        id=f"{_START_NS + number:019d}-{number:08x}",
        started_ns=_START_NS + number,
        state=state,
        backend=backend,
        backend_version="3.13.0" if backend == "iree" else "1.27.0",
        device=device,
        device_key=device_key,
        software=software,
        model="MiniLLM small",
        parameters=5_248_512,
        weight_bytes=20_994_048,
        precision="fp16" if precision == "fp16" else "fp32",
        tokens=128,
        reference="torch 2.13.0, CPU",
        reference_call_s=18.7e-3,
        export_s=3.3,
        compile_s=1.5 if ran else None,
        load_s=0.02 if ran else None,
        first_call_s=40 * warm_s if believed else None,
        warm_call_s=warm_s if believed else None,
        prefill_tokens_per_s=128 / warm_s if believed else None,
        max_abs_error=error if ran else None,
        rel_error=error / 2 if ran else None,
        argmax_agreement=agreement.argmax_agreement if ran else None,
        nan_count=0 if ran else None,
        agrees=agreement.agrees if ran else None,
        cached=("export", "compile") if number % 2 else (),
        cases=(case,) if ran else (),
        peak_bytes=193_000_000,
        problems=_problems(state),
    )
    if state == "ran_elsewhere":
        result = msgspec.structs.replace(
            result,
            asked_provider="WebGpuExecutionProvider",
            providers=(
                ProviderCount(provider="CPUExecutionProvider", nodes=188, operators=("MatMul", "Add")),
            ),
        )
    if backend == "iree" and believed:
        result = msgspec.structs.replace(result, dispatches=_dispatches(), ceilings=_ceilings())
    return result


def made_results() -> tuple[EdgeResult, ...]:
    """One of each kind, newest first."""
    other = "ort-webgpu"
    found = (
        made_result(1),
        made_result(2, device=INTEGRATED, device_key="vulkan:1", warm_s=7.92e-3, error=2.4e-6),
        made_result(3, backend=other, warm_s=2.61e-3, error=5.0e-6),
        made_result(4, device=SOFTWARE, device_key="vulkan:2", software=True, warm_s=4.903),
        made_result(
            5, backend=other, device=SOFTWARE, device_key="vulkan:2", software=True, state="ran_elsewhere"
        ),
        made_result(6, backend="cpu", device=CPU, device_key="cpu", warm_s=18.7e-3, error=1e-7),
        made_result(7, state="disagrees", precision="fp16", error=3.1),
        made_result(8, state="failed", device=INTEGRATED, device_key="vulkan:1", precision="fp16"),
    )
    return tuple(reversed(found))


def _problems(state: EdgeState) -> tuple[EdgeProblem, ...]:
    told = {
        "disagrees": (
            "The largest difference is 0.43 of the largest element.",
            "Use fp32 or another target.",
        ),
        "ran_elsewhere": (
            "188 of 188 nodes ran on the CPU, none on WebGPU.",
            "Update the driver, or choose another device.",
        ),
        "failed": ("The worker was ended by SIGSEGV while compiling.", "Update the driver."),
        "refused": ("The device lacks a limit that the model needs.", "Choose a smaller model."),
        "impossible": ("The call came back before the work was done.", "No speed is shown."),
    }
    if state not in told:
        return ()
    message, hint = told[state]
    return (EdgeProblem(code=state, message=message, hint=hint),)


def _dispatches() -> tuple[Dispatch, ...]:
    kinds = (
        ("matmul_128x1024x256_f32", 4, 103_000),
        ("matmul_128x256x1024_f32", 4, 99_600),
        ("matmul_128x2000x256_f32", 1, 366_100),
        ("attention_8x128x128x32_f32", 4, 53_700),
        ("softmax_8x128x128_f32", 4, 24_100),
        ("reduction_128x256_f32", 9, 9_800),
        ("elementwise_128x1024_f32", 4, 10_400),
        ("gather_128x256_f32", 1, 18_800),
    )
    found: list[Dispatch] = []
    for number, (name, calls, duration_ns) in enumerate(kinds):
        for _ in range(calls):
            place = len(found)
            found.append(
                Dispatch(
                    name=f"main_graph$async_dispatch_{number}_{name}",
                    start_ns=place * 400_000,
                    duration_ns=duration_ns,
                    workgroups=(16, 4, 1),
                    workgroup_size=(64, 1, 1),
                )
            )
    return tuple(found)


def _ceilings() -> tuple[Ceiling, ...]:
    return (
        Ceiling(what="gemm", type="fp32", per_s=1.9e12, size=2048),
        Ceiling(what="copy", type="", per_s=2.4e11, size=268_435_456),
    )

"""Kernels are told apart by name: known names, hostile ones, and all of the public samples."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
import pytest

from core.analyses.categories import (
    Category,
    categorize,
    categorize_name,
    categorize_names,
    parse_pattern,
    read_rules,
)
from core.analyses.kernel_names import split_name
from core.tables.columns import NO_ROW
from core.tables.strings import string_table
from core.tables.trace import (
    CollectiveTable,
    CounterTable,
    DeviceTable,
    FlowTable,
    InstantTable,
    MemoryTable,
    OpTable,
    SliceKind,
    SliceTable,
    Trace,
    TraceFacts,
    TrackTable,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

NAMES = Path(__file__).parents[2] / "data" / "kernel_names"
DTYPES = {"Int64": np.int64, "Int32": np.int32, "Uint8": np.uint8, "Float64": np.float64}


def known_names() -> Iterator[tuple[str, str]]:
    for file in sorted(NAMES.glob("*.tsv")):
        for line in file.read_text(encoding="utf-8").splitlines():
            if not line.startswith("#"):
                name, category, _source = line.split("\t")
                yield name.replace("\\n", "\n").replace("\\t", "\t"), category


@pytest.mark.parametrize("category", Category)
def test_known_names_are_what_they_are(category: Category) -> None:
    names = [name for name, expected in known_names() if expected == category.name.lower()]
    assert names
    wrong = {name: categorize_name(name).name for name in names if categorize_name(name) is not category}
    assert not wrong


def test_every_rule_decides_a_known_name() -> None:
    decided = set()
    for full, _ in known_names():
        signature = split_name(full)
        text = full.lower() if full.startswith("_ZN") else signature.name.lower()
        for number, rule in enumerate(read_rules()):
            if rule.matches(signature.path.lower(), text):
                decided.add(number)
                break
    unused = [rule.names.literals or rule for n, rule in enumerate(read_rules()) if n not in decided]
    assert not unused


def test_the_list_is_long_enough() -> None:
    assert len({name for name, _ in known_names()}) >= 300


def test_titles_and_order_follow_the_colours() -> None:
    assert [(category, category.title) for category in Category] == [
        (Category.GEMM, "GEMM"),
        (Category.ATTENTION, "Attention"),
        (Category.CONVOLUTION, "Convolution"),
        (Category.NORMALISATION, "Normalisation"),
        (Category.ELEMENTWISE, "Elementwise"),
        (Category.REDUCTION, "Reduction"),
        (Category.OPTIMIZER, "Optimizer"),
        (Category.EMBEDDING, "Embedding"),
        (Category.COMMUNICATION, "Communication"),
        (Category.MEMCPY, "Memcpy"),
        (Category.MEMSET, "Memset"),
        (Category.TRITON, "Triton"),
        (Category.OTHER, "Other"),
    ]


@pytest.mark.parametrize(
    ("pattern", "text", "expected"),
    [
        ("gemm", "volta_sgemm_32x128", True),
        ("^triton_", "my_triton_kernel", False),
        ("^triton_", "triton_poi", True),
        ("_triton$", "indices_triton", True),
        ("_triton$", "indices_triton_2", False),
        ("a*b", "xxaxxbxx", True),
        ("a*b", "xxbxxaxx", False),
        ("aa*aa", "aaa", False),
        ("~conv~", "conv_2d", True),
        ("~conv~", "convert", False),
        ("~conv~", "deconv", False),
        ("~conv~", "4conv6kernel", True),
        ("~conv~", "converter_conv", True),
        ("^add$", "add", True),
        ("^add$", "addadd", False),
    ],
)
def test_patterns(pattern: str, text: str, expected: bool) -> None:
    assert parse_pattern(pattern).matches(text) is expected


@pytest.mark.parametrize("pattern", ["", "~", "~~", "~a", "a~", "~a*b~", "a**b", "Gemm", "*a"])
def test_a_malformed_pattern_is_refused(pattern: str) -> None:
    with pytest.raises(ValueError, match="pattern"):
        parse_pattern(pattern)


@pytest.mark.parametrize(
    ("rule", "error"),
    [
        ('category = "gemm"\nnames = ["x"]', ValueError),
        ('category = "gemm"\nnames = ["x"]\nwhy = "y"\nnot = ["z"]', ValueError),
        ('category = "gem"\nnames = ["x"]\nwhy = "y"', KeyError),
        ('names = ["x"]\nwhy = "y"', KeyError),
    ],
)
def test_a_malformed_rule_is_refused(tmp_path: Path, rule: str, error: type[Exception]) -> None:
    path = tmp_path / "rules.toml"
    path.write_text(f"[[rule]]\n{rule}\n", encoding="utf-8")
    with pytest.raises(error):
        read_rules(path)


def test_names_give_one_category_each() -> None:
    found = categorize_names(["volta_sgemm_32x128_tn", "", "ncclKernel_Broadcast", "x" * 4096])
    assert found.dtype == np.uint8
    assert found.tolist() == [Category.GEMM, Category.OTHER, Category.COMMUNICATION, Category.OTHER]
    assert categorize_names([]).tolist() == []


def test_what_stands_far_behind_in_a_name_does_not_decide() -> None:
    assert categorize_name("a" * 4000 + "gemm") is Category.OTHER


def table(table_type: type, rows: int = 0, **columns: Any) -> Any:
    """A table whose columns are zeros, but for those given."""
    filled = {}
    for field, annotation in table_type.__annotations__.items():
        dtype = DTYPES[annotation]
        shape = (rows, 3) if field in ("grid", "block") else (rows,)
        filled[field] = np.array(columns[field], dtype) if field in columns else np.zeros(shape, dtype)
    return table_type(**filled)


def trace_of(kernels: list[tuple[str, SliceKind, int]]) -> Trace:
    """A trace of device work: name, kind and row of its collective's arguments."""
    texts = list(dict.fromkeys(name for name, _, _ in kernels))
    count = len(kernels)
    return Trace(
        name="drawn",
        strings=string_table(texts),
        slices=table(
            SliceTable,
            count,
            name_id=[texts.index(name) for name, _, _ in kernels],
            kind=[kind for _, kind, _ in kernels],
        ),
        device_work=table(
            DeviceTable, count, slice_row=range(count), collective_row=[row for _, _, row in kernels]
        ),
        ops=table(OpTable),
        collectives=table(CollectiveTable),
        counters=table(CounterTable),
        memory=table(MemoryTable),
        flows=table(FlowTable),
        instants=table(InstantTable),
        tracks=table(TrackTable),
        facts=TraceFacts(origin_ns=0),
        problems=(),
    )


def test_the_device_work_of_a_trace() -> None:
    found = categorize(
        trace_of(
            [
                ("volta_sgemm_32x128_tn", SliceKind.KERNEL, NO_ROW),
                ("Memcpy HtoD (Pinned -> Device)", SliceKind.MEMCPY, NO_ROW),
                ("ncclKernel_odd_name_of_a_copy", SliceKind.MEMCPY, NO_ROW),
                ("Memset (Device)", SliceKind.MEMSET, NO_ROW),
                ("volta_sgemm_32x128_tn", SliceKind.KERNEL, NO_ROW),
                ("somebodys_own_transport", SliceKind.KERNEL, NO_ROW),
                ("somebodys_own_transport", SliceKind.KERNEL, 0),
                ("void at::native::reduce_kernel<512, 1>(int)", SliceKind.KERNEL, 0),
            ]
        )
    )
    assert found.tolist() == [
        Category.GEMM,
        Category.MEMCPY,
        Category.MEMCPY,
        Category.MEMSET,
        Category.GEMM,
        Category.OTHER,
        Category.COMMUNICATION,
        Category.REDUCTION,
    ]


def test_a_trace_without_device_work() -> None:
    assert categorize(trace_of([])).tolist() == []


class Event(msgspec.Struct):
    """What these tests read of an event."""

    name: str = ""
    cat: str = ""
    ph: str = ""
    dur: float = 0.0
    pid: int | str = ""


class File(msgspec.Struct):
    """What these tests read of a trace."""

    traceEvents: list[Event]  # noqa: N815 - the key of the format


def events_of(path: Path) -> list[Event]:
    data = path.read_bytes()
    text = gzip.decompress(data) if path.suffix == ".gz" else data
    return msgspec.json.decode(text, type=File).traceEvents


@pytest.mark.parametrize(("case", "communication_us"), [("T28", 200), ("T29", 80), ("T41", 20)])
def test_communication_of_the_handed_cases(shared_cases: Path, case: str, communication_us: int) -> None:
    found = sum(
        event.dur
        for event in events_of(shared_cases / f"{case}.json")
        if event.ph == "X" and categorize_name(event.name) is Category.COMMUNICATION
    )
    assert found == communication_us


def test_shares_of_kernel_time_in_the_public_samples(
    shared_cases: Path, golden: Callable[[str, str], None]
) -> None:
    lines = ["sample\tcategory\tsum_us\tshare_pct"]
    for path in sorted((shared_cases.parents[1] / "data" / "traces").glob("*.json*")):
        sums = dict.fromkeys(Category, 0.0)
        of_name: dict[str, Category] = {}
        for event in events_of(path):
            if event.ph == "X" and event.cat.lower() == "kernel":
                category = of_name.get(event.name)
                if category is None:
                    category = of_name[event.name] = categorize_name(event.name)
                sums[category] += event.dur
        total = sum(sums.values())
        sample = path.name.partition(".json")[0]
        lines += [
            f"{sample}\t{category.name.lower()}\t{found:.0f}\t{100 * found / total:.2f}"
            for category, found in sums.items()
            if found
        ]
    golden("kernel_category_shares.tsv", "\n".join(lines) + "\n")

"""Tables of the memory of a launch: shared memory, L1, L2, device memory, what crosses between them.

A report carries only that such a table is there, not what is in it. The lists
here name a metric for each cell, and others that stood for the same in older
versions or on other devices; the first that was collected is shown. A row of
which nothing was collected is left out.

Source: names of metrics in reports of Nsight Compute 2020.3 to 2026.2, and its documentation,
"Memory Tables" (2025.1).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from core.analyses.report_view.parts import Cell, TableColumn, TablePart

if TYPE_CHECKING:
    from core.analyses.report_view.launch import LaunchMetrics

_Names = tuple[str, ...]
"""Metrics that stand for one cell, the best first; none leaves the place empty."""


@dataclass(frozen=True, slots=True)
class HitRate:
    """A rate that is computed: hits of hits and misses, two metrics."""

    hits: str
    misses: str


@dataclass(frozen=True, slots=True)
class Sum:
    """A metric, or where it was not collected the sum of others."""

    whole: str
    parts: _Names


_COUNTED: Final = ("inst", "request", "sector")
_Place = _Names | HitRate | Sum
_Row = tuple[str, tuple[_Place, ...]]


@dataclass(frozen=True, slots=True)
class MemoryTable:
    """What stands in a table of memory.

    Attributes:
        columns: Titles, without that of the words of the rows.
        rows: Words, and the metrics of each cell.
        note: What holds of all of it, "".
        titles_tell: Whether counts stand without their units, which titles and note tell.
    """

    columns: tuple[str, ...]
    rows: tuple[_Row, ...]
    note: str = ""
    titles_tell: bool = True


def memory_part(label: str, table: MemoryTable, launch: LaunchMetrics) -> TablePart:
    """Fills a table of memory; its note tells which rows were not collected."""
    rows: list[tuple[Cell | None, ...]] = []
    left_out = []
    for words, places in table.rows:
        cells = [_cell(place, launch) for place in places]
        if table.titles_tell:
            cells = [_without_unit(cell) for cell in cells]
        if any(cell is not None and cell.value is not None for cell in cells):
            rows.append((Cell(value=words), *cells))
        else:
            left_out.append(words)
    missing = f"Not collected: {', '.join(left_out)}." if left_out else ""
    note = " ".join(part for part in (table.note, missing) if part)
    return TablePart(
        label=label,
        columns=(
            TableColumn(title="", is_label=True),
            *(TableColumn(title=title) for title in table.columns),
        ),
        rows=tuple(rows),
        note=note if rows else "Not collected.",
    )


def _without_unit(cell: Cell | None) -> Cell | None:
    return replace(cell, unit_in_title=True) if cell is not None and cell.unit in _COUNTED else cell


def _cell(place: _Place, launch: LaunchMetrics) -> Cell | None:
    if isinstance(place, Sum):
        numbers = [launch.number(name) for name in place.parts]
        known = [number for number in numbers if number is not None]
        if place.whole in launch or len(known) < len(numbers):
            return launch.cell(place.whole)
        return Cell(
            value=sum(known), unit=launch.unit(place.whole), help=f"Sum of {' and '.join(place.parts)}."
        )
    if not isinstance(place, HitRate):
        return launch.cell(launch.first(place)) if place else None
    hits, misses = launch.number(place.hits), launch.number(place.misses)
    if hits is None or misses is None:
        return Cell(value=None, unit="%", help="Not collected.")
    if not hits + misses > 0:
        return Cell(value=None, unit="%", help="Nothing was looked up.")
    return Cell(value=100.0 * hits / (hits + misses), unit="%", help="Hits of hits and misses.")


def _op(words: str, *names: _Place) -> _Row:
    return words, names


def _shared(words: str, instructions: _Names, op: str, sass: str = "", peak: bool = True) -> _Row:
    """A row of the table of shared memory."""
    pipe = f"l1tex__data_pipe_lsu_wavefronts_mem_shared{op}.sum"
    conflicts = f"l1tex__data_bank_conflicts_pipe_lsu_mem_shared{op}.sum"
    fallback = (f"smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared{sass}.sum",) if sass else ()
    other = (f"smsp__sass_l1tex_data_bank_conflicts_pipe_lsu_mem_shared{sass}.sum",) if sass else ()
    return (
        words,
        (
            instructions,
            (pipe, *fallback),
            (f"{pipe}.pct_of_peak_sustained_elapsed",) if peak else (),
            (conflicts, *other),
        ),
    )


SHARED: Final = MemoryTable(
    ("Instructions", "Wavefronts", "% of peak", "Bank conflicts"),
    (
        _shared(
            "Shared load",
            ("smsp__sass_inst_executed_op_shared_ld.sum", "sass__inst_executed_shared_loads"),
            "_op_ld",
        ),
        _op("Shared load matrix", ("smsp__inst_executed_op_ldsm.sum",), (), (), ()),
        _shared(
            "Shared store",
            ("smsp__sass_inst_executed_op_shared_st.sum", "sass__inst_executed_shared_stores"),
            "_op_st",
            "_op_st",
        ),
        _op("Shared store matrix", ("smsp__inst_executed_op_shared_stsm.sum",), (), (), ()),
        _shared(
            "Shared store from global load",
            ("smsp__inst_executed_op_ldgsts.sum",),
            "_op_ldgsts",
            "_op_ldgsts",
            peak=False,
        ),
        _shared("Shared atomic", ("smsp__inst_executed_op_shared_atom.sum",), "_op_atom"),
        _shared("Total", ("smsp__sass_inst_executed_op_shared.sum", "smsp__inst_executed_op_shared.sum"), ""),
    ),
)


def _l1(words: str, instructions: _Names, pipe: str, hit_rate: str, to_l2: _Names) -> _Row:
    """A row of the table of the L1 cache: an access of one pipe to one kind of memory."""
    return (
        words,
        (
            instructions,
            (f"l1tex__t_requests_pipe_{pipe}.sum",),
            (f"l1tex__t_output_wavefronts_pipe_{pipe}.sum",),
            (f"l1tex__t_sectors_pipe_{pipe}.sum",),
            (f"l1tex__t_sector_pipe_{hit_rate}_hit_rate.pct",),
            to_l2,
        ),
    )


def _read(what: str) -> _Names:
    return (f"l1tex__m_xbar2l1tex_read_sectors_mem_{what}.sum",)


def _written(what: str) -> _Names:
    return (f"l1tex__m_l1tex2xbar_write_sectors_mem_{what}.sum",)


def _lsu(words: str, op: str, to_l2: _Names, *instructions: str) -> _Row:
    return _l1(words, instructions, f"lsu_mem_{op}", f"lsu_mem_{op}", to_l2)


def _surface(words: str, op: str, to_l2: _Names, *instructions: str) -> _Row:
    return _l1(words, instructions, f"tex_mem_surface_{op}", f"tex_mem_surface_{op}", to_l2)


L1: Final = MemoryTable(
    ("Instructions", "Requests", "Wavefronts", "Sectors", "Hit rate", "Sectors to or from L2"),
    (
        _lsu(
            "Global load",
            "global_op_ld",
            (),
            "smsp__sass_inst_executed_op_global_ld.sum",
            "sass__inst_executed_global_loads",
        ),
        _op(
            "Global load to shared memory",
            ("smsp__inst_executed_op_ldgsts.sum",),
            ("sm__sass_l1tex_t_requests_pipe_lsu_mem_global_op_ldgsts.sum",),
            (),
            ("sm__sass_l1tex_t_sectors_pipe_lsu_mem_global_op_ldgsts_cache_access.sum",),
            (),
            ("smsp__sass_l1tex_m_xbar2l1tex_read_sectors_mem_global_op_ldgsts_cache_bypass.sum",),
        ),
        _lsu(
            "Global store",
            "global_op_st",
            (),
            "smsp__sass_inst_executed_op_global_st.sum",
            "sass__inst_executed_global_stores",
        ),
        _lsu(
            "Local load",
            "local_op_ld",
            (),
            "smsp__sass_inst_executed_op_local_ld.sum",
            "sass__inst_executed_local_loads",
        ),
        _lsu(
            "Local store",
            "local_op_st",
            (),
            "smsp__sass_inst_executed_op_local_st.sum",
            "sass__inst_executed_local_stores",
        ),
        _op("Global and local loads", (), (), (), (), (), _read("lg_op_ld")),
        _op("Global and local stores", (), (), (), (), (), _written("lg_op_st")),
        _lsu(
            "Global reduction",
            "global_op_red",
            _written("global_op_red"),
            "smsp__inst_executed_op_global_red.sum",
        ),
        _lsu(
            "Global atomic",
            "global_op_atom",
            _written("global_op_atom"),
            "smsp__inst_executed_op_generic_atom_dot_alu.sum",
        ),
        _op(
            "Bulk load (TMA)",
            ("smsp__sass_inst_executed_op_tma_ld.sum", "smsp__inst_executed_op_tma_ld.sum"),
            (),
            (),
            (),
            (),
            _read("global_op_tma_ld"),
        ),
        _op(
            "Bulk store (TMA)",
            ("smsp__sass_inst_executed_op_tma_st.sum", "smsp__inst_executed_op_tma_st.sum"),
            (),
            (),
            (),
            (),
            _written("global_op_tma_st"),
        ),
        _l1(
            "Texture load",
            ("smsp__inst_executed_op_texture.sum",),
            "tex_mem_texture",
            "tex_mem_texture_op_tex",
            _read("texture"),
        ),
        _surface("Surface load", "op_ld", _read("surface_op_ld"), "smsp__inst_executed_op_surface_ld.sum"),
        _surface(
            "Surface store", "op_st", _written("surface_op_st"), "smsp__inst_executed_op_surface_st.sum"
        ),
        _surface(
            "Surface reduction",
            "op_red",
            _written("surface_op_red"),
            "smsp__inst_executed_op_surface_red.sum",
        ),
        _surface(
            "Surface atomic",
            "op_atom",
            _written("surface_op_atom"),
            "smsp__inst_executed_op_surface_atom_dot_alu.sum",
        ),
        _op(
            "Distributed shared load",
            ("smsp__sass_inst_executed_op_dshared_ld.sum",),
            ("l1tex__t_requests_pipe_lsu_mem_dshared_op_ld.sum",),
            ("l1tex__t_output_wavefronts_pipe_lsu_mem_dshared_op_ld.sum",),
            ("l1tex__t_sectors_pipe_lsu_mem_dshared_op_ld.sum",),
            (),
            _read("dshared_op_ld"),
        ),
        _op(
            "Distributed shared store",
            ("smsp__sass_inst_executed_op_dshared_st.sum",),
            ("l1tex__t_requests_pipe_lsu_mem_dshared_op_st.sum",),
            ("l1tex__t_output_wavefronts_pipe_lsu_mem_dshared_op_st.sum",),
            ("l1tex__t_sectors_pipe_lsu_mem_dshared_op_st.sum",),
            (),
            _written("dshared_op_st"),
        ),
        _op(
            "Total",
            (),
            (),
            (),
            (),
            ("l1tex__t_sector_hit_rate.pct",),
            (),
        ),
    ),
)


def _l2(words: str, what: str) -> _Row:
    """A row of the table of the L2 cache: lookups from one place for one kind of access."""
    sectors = f"lts__t_sectors{what}"
    # "_srcunit_tex_op_read": where from, and what for.
    source, separator, op = what.partition("_op_")
    misses = [
        (f"lts__t_sectors{source}_aperture_{where}{separator}{op}_lookup_miss.sum",)
        for where in ("device", "sysmem", "peer")
    ]
    return (
        words,
        (
            (f"lts__t_requests{what}.sum",),
            (f"{sectors}.sum",),
            (f"{sectors}.avg.pct_of_peak_sustained_elapsed",),
            (f"{sectors}_lookup_hit.sum",),
            (f"{sectors}_lookup_miss.sum",),
            HitRate(f"{sectors}_lookup_hit.sum", f"{sectors}_lookup_miss.sum"),
            (f"{sectors}.sum.per_second",),
            *misses,
        ),
    )


L2: Final = MemoryTable(
    (
        "Requests",
        "Sectors",
        "% of peak",
        "Sector hits",
        "Sector misses",
        "Hit rate",
        "Sectors a second",
        "Misses to device",
        "Misses to system",
        "Misses to peers",
    ),
    (
        _l2("L1/TEX load", "_srcunit_tex_op_read"),
        _l2("L1/TEX store", "_srcunit_tex_op_write"),
        _l2("L1/TEX reduction", "_srcunit_tex_op_red"),
        _l2("L1/TEX atomic", "_srcunit_tex_op_atom_dot_alu"),
        _l2("L1/TEX compare and swap", "_srcunit_tex_op_atom_dot_cas"),
        _l2("L1/TEX total", "_srcunit_tex"),
        _l2("L2 fabric", "_srcunit_ltcfabric"),
        _op(
            "ECC",
            (),
            ("lts__t_sectors_data_ecc.sum",),
            ("lts__t_sectors_data_ecc.avg.pct_of_peak_sustained_elapsed",),
            (),
            (),
            (),
            ("lts__t_sectors_data_ecc.sum.per_second",),
            (),
            (),
            (),
        ),
        _l2("Total", ""),
    ),
)


def _dram(words: str, what: str) -> _Row:
    name = f"dram__bytes_{what}.sum"
    return (
        words,
        (
            (f"dram__sectors_{what}.sum",),
            (f"{name}.pct_of_peak_sustained_elapsed",),
            (name,),
            (f"{name}.per_second",),
        ),
    )


def _both(name: str, suffix: str = "") -> Sum:
    return Sum(f"{name}.sum{suffix}", (f"{name}_read.sum{suffix}", f"{name}_write.sum{suffix}"))


DEVICE: Final = MemoryTable(
    ("Sectors", "% of peak", "Bytes", "Throughput"),
    (
        _dram("Load", "read"),
        _dram("Store", "write"),
        (
            "Total",
            (
                _both("dram__sectors"),
                _both("dram__bytes", ".pct_of_peak_sustained_elapsed"),
                _both("dram__bytes"),
                _both("dram__bytes", ".per_second"),
            ),
        ),
    ),
)


def _policy(words: str, policy: str) -> _Row:
    ops = ("", "_op_read", "_op_write", "_op_atom")
    places = [
        (f"lts__t_sectors_srcunit_tex{op}_evict_{policy}_lookup_{end}.sum",)
        for op in ops
        for end in ("hit", "miss")
    ]
    return words, tuple(places)


POLICIES: Final = MemoryTable(
    (
        "L1/TEX hits",
        "L1/TEX misses",
        "Load hits",
        "Load misses",
        "Store hits",
        "Store misses",
        "Atomic hits",
        "Atomic misses",
    ),
    (
        _policy("Evict first", "first"),
        _policy("Evict last", "last"),
        _policy("Evict normal", "normal"),
        _policy("Evict normal demote", "normal_demote"),
    ),
    note="Counted in sectors.",
)


def _flow(words: str, moved: str, *more: str) -> _Row:
    return words, (
        (moved, *more),
        tuple(f"{name}.per_second" for name in (moved, *more)),
        tuple(f"{name}.pct_of_peak_sustained_elapsed" for name in (moved, *more)),
    )


CHART: Final = MemoryTable(
    ("Amount", "A second", "% of peak"),
    (
        _op(
            "Shared memory",
            (),
            (),
            ("l1tex__data_pipe_lsu_wavefronts_mem_shared.sum.pct_of_peak_sustained_elapsed",),
        ),
        _op("L1/TEX hit rate", ("l1tex__t_sector_hit_rate.pct",), (), ()),
        _flow("L2 to L1/TEX", "l1tex__m_xbar2l1tex_read_bytes.sum"),
        _flow("L1/TEX to L2", "l1tex__m_l1tex2xbar_write_bytes.sum"),
        _op("L2 hit rate", ("lts__t_sector_hit_rate.pct",), (), ()),
        _flow("Device memory to L2", "dram__bytes_read.sum"),
        _flow("L2 to device memory", "dram__bytes_write.sum"),
        _flow("System memory to L2", "lts__t_sectors_srcunit_tex_aperture_sysmem_op_read_lookup_miss.sum"),
        _flow(
            "L2 to system memory",
            "lts__t_sectors_srcunit_tex_aperture_sysmem_op_write.sum",
            "lts__t_sectors_srcunit_tex_aperture_sysmem_op_write_lookup_miss.sum",
        ),
        _flow("Peer memory to L2", "lts__t_sectors_srcunit_tex_aperture_peer_op_read_lookup_miss.sum"),
        _flow(
            "L2 to peer memory",
            "lts__t_sectors_srcunit_tex_aperture_peer_op_write.sum",
            "lts__t_sectors_srcunit_tex_aperture_peer_op_write_lookup_miss.sum",
        ),
        _flow("L2 fabric", "lts__t_sectors_srcunit_ltcfabric.sum"),
    ),
    titles_tell=False,
)

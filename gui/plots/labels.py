"""Where the words at the ends of curves go: pure arithmetic, no Qt.

Names stand at the line's end instead of in a floating legend, so they must not
lie upon each other; curves that cannot be told apart are said to be close.
"""

from __future__ import annotations

from collections.abc import Sequence


def place(wanted: Sequence[float], height: float, top: float, bottom: float) -> list[float]:
    """Centres for labels, as near as possible to where they are wanted, without overlap.

    Args:
        wanted: Wanted centre of each label, in pixels downwards.
        height: Height of one label.
        top: Upper end of the room.
        bottom: Lower end of the room.

    Returns:
        Centres in the order of ``wanted``. If the room is too small for all, they
        are spread evenly over it.
    """
    # Curves that lie close together keep the order of their ranks: it must not
    # change with every point.
    order = sorted(range(len(wanted)), key=lambda index: (round(wanted[index] / height), index))
    room = bottom - top
    if not order:
        return []
    if height * len(order) > room:
        pitch = room / len(order)
        return _in_order(order, [top + pitch * (place_ + 0.5) for place_ in range(len(order))])
    # Blocks of touching labels, each centred on the mean of what its members want.
    blocks: list[tuple[float, int]] = []
    for index in order:
        centre, size = min(max(wanted[index], top + height / 2), bottom - height / 2), 1
        while blocks and blocks[-1][0] + blocks[-1][1] * height / 2 > centre - size * height / 2:
            other, members = blocks.pop()
            centre = (other * members + centre * size) / (members + size)
            size += members
            half = size * height / 2
            centre = min(max(centre, top + half), bottom - half)
        blocks.append((centre, size))
    centres = [
        centre + (member - (size - 1) / 2) * height for centre, size in blocks for member in range(size)
    ]
    return _in_order(order, centres)


def _in_order(order: Sequence[int], centres: Sequence[float]) -> list[float]:
    result = [0.0] * len(order)
    for index, centre in zip(order, centres, strict=True):
        result[index] = centre
    return result


def closest_group(positions: Sequence[float], within: float) -> list[int]:
    """Indices of the largest set of curves whose neighbours lie within ``within`` of each other.

    Args:
        positions: Last position of each curve, in pixels.
        within: Largest distance between two neighbours of a group.

    Returns:
        At least two indices, or none at all.
    """
    order = sorted(range(len(positions)), key=lambda index: positions[index])
    best: list[int] = []
    group: list[int] = []
    for index in order:
        if group and positions[index] - positions[group[-1]] > within:
            group = []
        group.append(index)
        if len(group) > len(best):
            best = list(group)
    return best if len(best) > 1 else []

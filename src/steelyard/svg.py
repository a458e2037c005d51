"""A small SVG canvas with axes, regions, lines, points and labels that do not collide, without a plotting library."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from html import escape

LEFT, RIGHT, TOP, BOTTOM = 64, 24, 48, 56  # pixels around the axes: numbers and a title fit
WIDE, HIGH = 6.6, 15.0  # of a letter and a line of text at 12 pixels, with a little air
# Where a label may go from its point, in order of taste: beside, above and below it.
PLACES = (("start", 11, 4), ("end", -11, 4), ("start", 8, -10), ("end", -8, -10), ("start", 8, 18), ("end", -8, 18))

Box = tuple[float, float, float, float]


class Canvas:
    """Data coordinates in, SVG text out. Points outside the axes are drawn at the edge."""

    def __init__(self, width: int, height: int, x: tuple[float, float], y: tuple[float, float]) -> None:
        self.width, self.height = width, height
        self.x, self.y = x, y
        self.parts: list[str] = []
        self.taken: list[Box] = []  # by labels and points, on which no label goes
        self.busy: list[tuple[float, float]] = []  # with dots and lines, which labels avoid

    def place(self, x: float, y: float) -> tuple[float, float]:
        """Pixels of a point."""
        share_x = min(max((x - self.x[0]) / (self.x[1] - self.x[0]), 0.0), 1.0)
        share_y = min(max((y - self.y[0]) / (self.y[1] - self.y[0]), 0.0), 1.0)
        across, down = self.width - LEFT - RIGHT, self.height - TOP - BOTTOM
        return LEFT + share_x * across, TOP + (1.0 - share_y) * down

    def write(self, x: float, y: float, text: str, anchor: str = "start", style: str = "", turn: bool = False) -> None:
        rotate = f' transform="rotate(-90 {x:.1f} {y:.1f})"' if turn else ""
        self.parts.append(f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" {style}{rotate}>{escape(text)}</text>')

    def axes(self, x_name: str, y_name: str, title: str, said: Callable[[float], str]) -> None:
        """A grid at round numbers, which `said` writes."""
        for at in ticks(*self.x):
            (ax, ay), (bx, by) = self.place(at, self.y[0]), self.place(at, self.y[1])
            self.parts.append(f'<path d="M{ax:.1f} {ay:.1f}L{bx:.1f} {by:.1f}" stroke="#e4e7eb"/>')
            self.write(ax, ay + 18, said(at), "middle")
        for at in ticks(*self.y):
            (ax, ay), (bx, by) = self.place(self.x[0], at), self.place(self.x[1], at)
            self.parts.append(f'<path d="M{ax:.1f} {ay:.1f}L{bx:.1f} {by:.1f}" stroke="#e4e7eb"/>')
            self.write(ax - 8, ay + 4, said(at), "end")
        middle_x, middle_y = LEFT + (self.width - LEFT - RIGHT) / 2, TOP + (self.height - TOP - BOTTOM) / 2
        self.write(middle_x, self.height - 14, x_name, "middle", 'font-size="13"')
        self.write(18, middle_y, y_name, "middle", 'font-size="13"', turn=True)
        self.write(LEFT, 26, title, "start", 'font-size="15" font-weight="bold"')

    def region(self, x: tuple[float, float], colour: str, label: str) -> None:
        """A strip between two places of the first axis, with a label at its top right."""
        (ax, ay), (bx, by) = self.place(x[0], self.y[1]), self.place(x[1], self.y[0])
        self.parts.append(
            f'<rect x="{ax:.1f}" y="{ay:.1f}" width="{bx - ax:.1f}" height="{by - ay:.1f}" fill="{colour}"/>'
        )
        self._keep(bx - 8, ay + 18, label, "end")
        self.write(bx - 8, ay + 18, label, "end", 'fill="#8a5a5a"')

    def line(self, points: Sequence[tuple[float, float]], colour: str) -> None:
        places = [self.place(*point) for point in points]
        self.busy += places
        path = "L".join(f"{px:.1f} {py:.1f}" for px, py in places)
        self.parts.append(f'<path d="M{path}" stroke="{colour}" stroke-width="2" fill="none"/>')

    def dot(self, x: float, y: float, colour: str) -> None:
        px, py = self.place(x, y)
        self.busy.append((px, py))
        self.parts.append(f'<circle cx="{px:.1f}" cy="{py:.1f}" r="2.6" fill="{colour}" fill-opacity="0.35"/>')

    def point(self, x: float, y: float, colour: str, label: str) -> None:
        """A point with its label where no other is, and where least is crossed."""
        px, py = self.place(x, y)
        self.parts.append(
            f'<circle cx="{px:.1f}" cy="{py:.1f}" r="6.5" fill="{colour}" stroke="white" stroke-width="1.5"/>'
        )
        self.taken.append((px - 7, py - 7, px + 7, py + 7))
        free = [spot for spot in PLACES if self._free(px + spot[1], py + spot[2], label, spot[0])]
        anchor, dx, dy = min(free or PLACES, key=lambda spot: self._crossed(px + spot[1], py + spot[2], label, spot[0]))
        self._keep(px + dx, py + dy, label, anchor)
        self.write(px + dx, py + dy, label, anchor, f'fill="{colour}" font-weight="bold"')

    def _box(self, x: float, y: float, text: str, anchor: str) -> Box:
        wide = WIDE * len(text)
        left = x if anchor == "start" else x - wide
        return left, y - HIGH + 3, left + wide, y + 3

    def _keep(self, x: float, y: float, text: str, anchor: str) -> None:
        self.taken.append(self._box(x, y, text, anchor))

    def _free(self, x: float, y: float, text: str, anchor: str) -> bool:
        a = self._box(x, y, text, anchor)
        inside = a[0] > LEFT and a[2] < self.width - 4 and a[1] > TOP and a[3] < self.height - BOTTOM
        return inside and not any(a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3] for b in self.taken)

    def _crossed(self, x: float, y: float, text: str, anchor: str) -> int:
        left, top, right, bottom = self._box(x, y, text, anchor)
        return sum(left <= px <= right and top <= py <= bottom for px, py in self.busy)

    def text(self) -> str:
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{self.width}" height="{self.height}" '
            f'viewBox="0 0 {self.width} {self.height}" font-family="sans-serif" font-size="12" fill="#323f4b">'
            f'<rect width="100%" height="100%" fill="white"/>{"".join(self.parts)}</svg>\n'
        )


def ticks(low: float, high: float, about: int = 8) -> list[float]:
    """Some round numbers between two, a power of ten times 1, 2 or 5 apart.

    >>> [round(at, 2) for at in ticks(0.31, 1.0)]
    [0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]
    """
    rough = (high - low) / about
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(times * power for times in (1, 2, 5, 10) if times * power >= rough * 0.999)
    first = math.ceil(low / step - 1e-9)
    return [k * step for k in range(first, math.floor(high / step + 1e-9) + 1)]

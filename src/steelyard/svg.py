"""A small SVG canvas with axes, points and a legend, for pictures that need no plotting library."""

from __future__ import annotations

from html import escape

LEFT, RIGHT, TOP, BOTTOM = 64, 24, 44, 56  # pixels around the axes: numbers and a title fit


class Canvas:
    """Data coordinates in, SVG text out. Points outside the axes are drawn at the edge."""

    def __init__(self, width: int, height: int, x: tuple[float, float], y: tuple[float, float]) -> None:
        self.width, self.height = width, height
        self.x, self.y = x, y
        self.parts: list[str] = []
        self.legends = 0
        self.labelled: list[tuple[float, float]] = []

    def _place(self, x: float, y: float) -> tuple[float, float]:
        share_x = min(max((x - self.x[0]) / (self.x[1] - self.x[0]), 0.0), 1.0)
        share_y = min(max((y - self.y[0]) / (self.y[1] - self.y[0]), 0.0), 1.0)
        across, down = self.width - LEFT - RIGHT, self.height - TOP - BOTTOM
        return LEFT + share_x * across, TOP + (1.0 - share_y) * down

    def write(
        self, x: float, y: float, text: str, *, anchor: str = "start", style: str = "", turn: bool = False
    ) -> None:
        rotate = f' transform="rotate(-90 {x:.1f} {y:.1f})"' if turn else ""
        self.parts.append(f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" {style}{rotate}>{escape(text)}</text>')

    def axes(self, x_name: str, y_name: str, title: str, ticks: int = 7) -> None:
        for k in range(ticks + 1):
            gx = self.x[0] + k * (self.x[1] - self.x[0]) / ticks
            gy = self.y[0] + k * (self.y[1] - self.y[0]) / ticks
            for (ax, ay), (bx, by) in (
                (self._place(gx, self.y[0]), self._place(gx, self.y[1])),
                (self._place(self.x[0], gy), self._place(self.x[1], gy)),
            ):
                self.parts.append(f'<path d="M{ax:.1f} {ay:.1f}L{bx:.1f} {by:.1f}" stroke="#e4e7eb"/>')
            px, py = self._place(gx, self.y[0])
            self.write(px, py + 18, f"{gx:.2f}", anchor="middle")
            px, py = self._place(self.x[0], gy)
            self.write(px - 8, py + 4, f"{gy:.2f}", anchor="end")
        middle_x, middle_y = LEFT + (self.width - LEFT - RIGHT) / 2, TOP + (self.height - TOP - BOTTOM) / 2
        self.write(middle_x, self.height - 14, x_name, anchor="middle", style='font-size="13"')
        self.write(18, middle_y, y_name, anchor="middle", style='font-size="13"', turn=True)
        self.write(middle_x, 24, title, anchor="middle", style='font-size="15"')

    def point(self, x: float, y: float, colour: str, label: str) -> None:
        px, py = self._place(x, y)
        self.parts.append(
            f'<circle cx="{px:.1f}" cy="{py:.1f}" r="6" fill="{colour}"><title>{escape(label)}</title></circle>'
        )
        # A label goes left of points near the right edge, and below earlier labels that it would cover, on a leader.
        text_y = py + 4
        while any(abs(text_y - y0) < 14 and abs(px - x0) < 170 for x0, y0 in self.labelled):
            text_y += 7
        self.labelled.append((px, text_y))
        on_the_left = px > self.width - 200
        text_x = px - 12 if on_the_left else px + 12
        if text_y > py + 4:
            self.parts.append(
                f'<path d="M{px:.1f} {py:.1f}L{text_x:.1f} {text_y - 4:.1f}" stroke="{colour}" opacity="0.5"/>'
            )
        self.write(
            text_x, text_y, label, anchor="end" if on_the_left else "start", style=f'font-size="11" fill="{colour}"'
        )

    def legend(self, colour: str, name: str) -> None:
        y = self.height - BOTTOM - 20 - 20 * self.legends
        self.parts.append(f'<circle cx="{LEFT + 16}" cy="{y - 4}" r="6" fill="{colour}"/>')
        self.write(LEFT + 28, y, name, style='font-size="13"')
        self.legends += 1

    def text(self) -> str:
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{self.width}" height="{self.height}" '
            f'viewBox="0 0 {self.width} {self.height}" font-family="sans-serif" font-size="12" fill="#323f4b">'
            f'<rect width="100%" height="100%" fill="white"/>{"".join(self.parts)}</svg>\n'
        )

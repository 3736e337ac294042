"""A heatmap as a standalone SVG for white paper: wrapped lines of monospaced cells, sign lines, legend, title.

Font metrics are not needed: every character takes whole cells (two for wide characters such as Chinese or emoji), and
``textLength`` fits the viewer's font to them.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import accumulate, groupby

import regex
from markupsafe import escape

from explainlab.figures.heatmap import Heatmap, Token

COLUMNS = 92
CELL, LINE, SIZE = 8.4, 30, 14
BAND, TRACK = 3, "#d5ddd8"
MARGIN, NOTE, SCALE = 24, 20, 220
WIDEST = 0.66
"""The width of a character of proportional text, as a share of its size, is at most this outside capitals."""
INK, MUTED, PAPER = "#101814", "#5c6560", "#ffffff"
MONO = "ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace"
SANS = "system-ui, 'DejaVu Sans', 'Helvetica Neue', Arial, sans-serif"
_GRAPHEME = regex.compile(r"\X")
_NOT_XML = regex.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True)
class _Glyph:
    """A user-perceived character: its text, its width in cells, and the index of its token (None: plain text)."""

    text: str
    cells: int
    token: int | None


@dataclass
class _Line:
    """A line of glyphs, ``cells`` wide; ``rtl`` lines run from the right edge."""

    rtl: bool
    glyphs: list[_Glyph] = field(default_factory=list)
    cells: int = 0

    def extend(self, glyphs: Iterable[_Glyph]) -> None:
        for glyph in glyphs:
            self.glyphs.append(glyph)
            self.cells += glyph.cells


def draw_svg(heatmap: Heatmap) -> str:
    """Return the heatmap as an SVG document without special tokens; a line below says their share of the scores."""
    lines = [line for part in range(len(heatmap.paragraphs)) for line in (*_paragraph(heatmap, part), _Line(rtl=False))]
    lines.pop()
    width = 2 * MARGIN + COLUMNS * CELL
    title = f"{heatmap.method} for {heatmap.target}"
    top, body = _head(heatmap, title)
    bottom = top + LINE * len(lines)
    notes = [row for note in _notes(heatmap) for row in _wrapped(note, SIZE - 2)]
    height = bottom + NOTE * len(notes) + 12
    body += (shape for row, line in enumerate(lines) for shape in _draw_line(heatmap, line, top + LINE * row))
    body += (_text(MARGIN, bottom + 16 + NOTE * row, note, SIZE - 2, MUTED) for row, note in enumerate(notes))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height}" role="img" '
        f'viewBox="0 0 {width:.0f} {height}"><title>{_escaped(title)}</title>'
        f'<rect width="100%" height="100%" fill="{PAPER}"/>' + "".join(body) + "</svg>"
    )


def _head(heatmap: Heatmap, title: str) -> tuple[float, list[str]]:
    """Return the y at which the text may begin, and the title, the explained output and the legend above it."""
    rows = [(row, SIZE + 2, INK, 600) for row in _wrapped(title, SIZE + 2)]
    words = [heatmap.explained, heatmap.model, f"one score for each {heatmap.unit}"]
    rows += [(row, SIZE - 2, MUTED, 400) for row in _wrapped(", ".join(filter(None, words)), SIZE - 2)]
    y, shapes = 12.0, []
    for row, size, fill, weight in rows:
        y += NOTE
        shapes.append(_text(MARGIN, y, row, size, fill, weight=weight))
    beside = _wrapped(_legend_words(heatmap), SIZE - 2, COLUMNS * CELL - SCALE - 14)
    shapes += _legend(heatmap, y + 12)
    shapes += (_text(MARGIN + SCALE + 14, y + 23 + NOTE * i, row, SIZE - 2) for i, row in enumerate(beside))
    return y + 52 + NOTE * max(0, len(beside) - 2), shapes


def _wrapped(text: str, size: float, width: float = COLUMNS * CELL) -> list[str]:
    """Return ``text`` in lines that fit ``width`` in any usual font of ``size``."""
    lines = _filled(list(_split(text, None)), rtl=False, columns=int(width / (WIDEST * size)))
    return ["".join(glyph.text for glyph in line.glyphs) for line in lines]


@lru_cache(maxsize=4096)
def cells(grapheme: str) -> int:
    """Return the cells of a user-perceived character: 2 if any code point is wide, 0 if none is visible, else 1."""
    if any(unicodedata.east_asian_width(c) in "WF" for c in grapheme) or "\ufe0f" in grapheme:
        return 2
    return int(any(unicodedata.category(c) not in {"Mn", "Me", "Cf", "Cc"} for c in grapheme))


def _paragraph(heatmap: Heatmap, part: int) -> list[_Line]:
    glyphs = list(_glyphs(heatmap, part))
    return _filled(glyphs, bool(_is_rtl("".join(glyph.text for glyph in glyphs))), COLUMNS)


def _filled(glyphs: list[_Glyph], rtl: bool, columns: int) -> list[_Line]:
    """Return the glyphs in lines of at most ``columns`` cells."""
    lines = [_Line(rtl)]
    for word in _words(glyphs):
        if word[-1].text == "\n":
            lines[-1].extend(word[:-1])
            lines.append(_Line(rtl))
            continue
        visible = sum(glyph.cells for glyph in word if not glyph.text.isspace())
        if lines[-1].cells + visible > columns and lines[-1].glyphs:
            lines.append(_Line(rtl))
        for glyph in word:
            fits = lines[-1].cells + glyph.cells <= columns
            if not fits and glyph.text.isspace():
                continue
            if not fits:
                lines.append(_Line(rtl))
            lines[-1].extend([glyph])
    return lines


def _glyphs(heatmap: Heatmap, part: int) -> Iterator[_Glyph]:
    """Yield the glyphs of a paragraph, in the order of the text."""
    if heatmap.paragraphs[part].unread:
        yield from _split("✂ ", None)
    for index, token in enumerate(heatmap.tokens):
        if token.part == part and not token.special:
            yield from _split(token.before, None)
            yield from _split(token.shown + (" ≠" if token.conflict else ""), index)
    if heatmap.paragraphs[part].cut:
        yield from _split(" ✂", None)


def _split(text: str, token: int | None) -> Iterator[_Glyph]:
    text = text.replace("\r\n", "\n").replace("\t", "    ")
    for grapheme in _GRAPHEME.findall(text):
        if grapheme == "\n" or cells(grapheme):
            yield _Glyph(grapheme, cells(grapheme), token)


def _words(glyphs: list[_Glyph]) -> Iterator[list[_Glyph]]:
    """Yield groups of glyphs; a line may break between groups: after blanks, line breaks and wide characters."""
    word: list[_Glyph] = []
    for glyph in glyphs:
        word.append(glyph)
        if glyph.text.isspace() or glyph.cells == 2:
            yield word
            word = []
    if word:
        yield word


def _is_rtl(text: str) -> bool | None:
    """Return True if the first character with a direction runs right to left; None if no character has one."""
    return next((d != "L" for d in map(unicodedata.bidirectional, text) if d in {"L", "R", "AL"}), None)


def _visual(runs: list[list[_Glyph]], rtl: bool) -> list[list[_Glyph]]:
    """Return the runs of a line from left to right; stretches against the line's direction are reversed.

    A run without a direction, such as a blank, has that of its neighbours if they agree, else that of the line.
    """
    own = [_is_rtl("".join(glyph.text for glyph in run)) for run in runs]
    before = accumulate(own, _latest)
    after = reversed(list(accumulate(reversed(own), _latest)))
    resolved = [rtl if left is None or left != right else left for left, right in zip(before, after, strict=True)]
    ordered: list[list[_Glyph]] = []
    for direction, group in groupby(zip(resolved, runs, strict=True), key=lambda pair: pair[0]):
        stretch = [run for _, run in group]
        ordered += stretch if direction == rtl else reversed(stretch)
    return ordered[::-1] if rtl else ordered


def _latest(last: bool | None, this: bool | None) -> bool | None:
    return last if this is None else this


def _draw_line(heatmap: Heatmap, line: _Line, top: float) -> Iterator[str]:
    runs = [list(group) for _, group in groupby(line.glyphs, key=lambda glyph: glyph.token)]
    x = MARGIN + (COLUMNS - line.cells if line.rtl else 0) * CELL
    for run in _visual(runs, line.rtl):
        width = sum(glyph.cells for glyph in run) * CELL
        text, index = "".join(glyph.text for glyph in run), run[0].token
        if index is not None:
            yield from _heat(heatmap, heatmap.tokens[index], x, top, width)
        marked = index is not None and heatmap.tokens[index].top > 0
        if marked:
            yield (
                f'<rect x="{x:.1f}" y="{top + 4}" width="{width:.1f}" height="22" rx="3" fill="none" stroke="{INK}" '
                'stroke-width="1.4"/>'
            )
        if text.strip():
            yield _text(x, top + 19, text, SIZE, INK, MONO, weight=700 if marked else 400, length=width)
        x += width


def _heat(heatmap: Heatmap, token: Token, x: float, top: float, width: float) -> Iterator[str]:
    kind = _kind(heatmap, token.score)
    if kind:
        yield _box(x, top + 4, width, 22, heatmap.colors["light"][kind], token.strength, 3, token)
        yield _sign_line(kind, x + 1, top + 24, width - 2, token.strength)
    if token.band is not None:
        for fill, share in ((TRACK, 1.0), (MUTED, token.band)):
            yield (
                f'<rect x="{x:.1f}" y="{top + 27}" width="{share * width:.1f}" height="{BAND}" fill="{fill}">'
                f"<title>{_escaped(f'{token.name}: spread {token.spread_value}')}</title></rect>"
            )


def _kind(heatmap: Heatmap, score: float) -> str | None:
    if score == 0:
        return None
    return "magnitude" if not heatmap.signed else "positive" if score > 0 else "negative"


def _box(
    x: float, y: float, width: float, height: float, fill: str, opacity: float, radius: float, token: Token
) -> str:
    return (
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height}" rx="{radius}" fill="{fill}" '
        f'fill-opacity="{opacity:.3f}"><title>{_escaped(f"{token.name}: {token.value}")}</title></rect>'
    )


def _sign_line(kind: str, x: float, y: float, width: float, opacity: float) -> str:
    if kind == "magnitude":
        return ""
    dashes = ' stroke-dasharray="2 2.5"' if kind == "negative" else ""
    return (
        f'<line x1="{x:.1f}" y1="{y:.1f}" x2="{x + width:.1f}" y2="{y:.1f}" stroke="{INK}" stroke-width="1.6" '
        f'stroke-opacity="{0.8 * opacity:.3f}"{dashes}/>'
    )


def _legend(heatmap: Heatmap, top: float) -> Iterator[str]:
    """Yield the scale with its limits, from ``top`` down."""
    hues = heatmap.colors["light"]
    if heatmap.signed:
        negative, positive = hues["negative"], hues["positive"]
        stops = [("0", negative, 1), ("0.5", negative, 0), ("0.5", positive, 0), ("1", positive, 1)]
    else:
        stops = [("0", hues["magnitude"], 0), ("1", hues["magnitude"], 1)]
    yield (
        '<defs><linearGradient id="scale">'
        + "".join(
            f'<stop offset="{at}" stop-color="{color}" stop-opacity="{opacity}"/>' for at, color, opacity in stops
        )
        + "</linearGradient></defs>"
    )
    yield (
        f'<rect x="{MARGIN}" y="{top}" width="{SCALE}" height="12" rx="3" fill="url(#scale)" stroke="#d5ddd8" '
        'stroke-width="0.8"/>'
    )
    top_value = heatmap.limit_value
    signed = [(0.0, "start", f"−{top_value}"), (0.5, "middle", "0"), (1.0, "end", f"+{top_value}")]
    for at, anchor, mark in signed if heatmap.signed else [(0.0, "start", "0"), (1.0, "end", top_value)]:
        yield _text(MARGIN + at * SCALE, top + 25, mark, SIZE - 3, MUTED, anchor=anchor)


def _legend_words(heatmap: Heatmap) -> str:
    signs = f"solid line: for {heatmap.target}; dotted line: against {heatmap.target}"
    return "; ".join(filter(None, [signs if heatmap.signed else heatmap.scale_label, heatmap.spread_label]))


def _notes(heatmap: Heatmap) -> list[str]:
    notes = [f"✂ {heatmap.cut}."] if heatmap.cut else []
    if heatmap.has_conflicts:
        notes.append(f"≠ {heatmap.mark}.")
    if heatmap.contradiction:
        notes.append(heatmap.contradiction)
    if heatmap.top_label:
        notes.append(heatmap.top_label)
    if heatmap.special_share is not None and any(token.special for token in heatmap.tokens):
        notes.append(
            f"{heatmap.special_name} (not drawn) hold {100 * heatmap.special_share:.0f}% of the total |score|."
        )
    return notes


def _text(
    x: float,
    y: float,
    text: str,
    size: float,
    fill: str = INK,
    family: str = SANS,
    weight: int = 400,
    anchor: str = "start",
    length: float | None = None,
) -> str:
    fit = f' textLength="{length:.1f}" lengthAdjust="spacingAndGlyphs"' if length else ""
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-family="{family}" font-size="{size}" font-weight="{weight}" fill="{fill}" '
        f'text-anchor="{anchor}" xml:space="preserve"{fit}>{_escaped(text)}</text>'
    )


def _escaped(text: str) -> str:
    return str(escape(_NOT_XML.sub("\ufffd", text)))

"""Result tables as text for the terminal, as Markdown and as LaTeX."""

from .tables import HIGHER, LOWER, Cell, ResultTable

BOLD, PLAIN = "\x1b[1m", "\x1b[0m"
LATEX_MARKS = {LOWER: r"$\downarrow$", HIGHER: r"$\uparrow$", "*": "*"}
LATEX_CHARACTERS = {
    "±": r"$\pm$",
    "÷": r"$\div$",
    "≈": r"$\approx$",
    "–": "--",
    "%": r"\%",
    "_": r"\_",
    LOWER: LATEX_MARKS[LOWER],
    HIGHER: LATEX_MARKS[HIGHER],
}


def to_terminal(table: ResultTable) -> str:
    """Draw aligned columns; the codes for bold are for a terminal, elsewhere click strips them."""
    head = ["", "", *table.columns]
    lines = [head, *([first, second, *map(plain, cells)] for first, second, cells in table.rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(head))]
    drawn = [table.title, ""]
    drawn.append("  ".join(text.ljust(width) for text, width in zip(head, widths, strict=True)))
    for first, second, cells in table.rows:
        if first:
            drawn.append("-" * (sum(widths) + 2 * len(widths) - 2))
        parts = [first.ljust(widths[0]), second.ljust(widths[1])]
        for cell, width in zip(cells, widths[2:], strict=True):
            padded = plain(cell).ljust(width)
            parts.append(f"{BOLD}{padded}{PLAIN}" if cell.bold else padded)
        drawn.append("  ".join(parts).rstrip())
    return "\n".join([*drawn, "", *table.notes]) + "\n"


def to_markdown(table: ResultTable) -> str:
    """Draw a pipe table with its notes below."""
    lines = [f"**{table.title}**", ""]
    lines.append("| | | " + " | ".join(table.columns) + " |")
    lines.append("|---|---|" + "---|" * len(table.columns))
    for first, second, cells in table.rows:
        texts = [markdown_cell(cell) for cell in cells]
        lines.append(f"| {first} | {second} | " + " | ".join(texts) + " |")
    notes = [f"- {note}".replace("*", r"\*") for note in table.notes]
    return "\n".join([*lines, "", *notes]) + "\n"


def to_latex(table: ResultTable) -> str:
    """Draw a booktabs table that a LaTeX file can include."""
    lines = [
        r"\begin{table*}",
        r"\small",
        rf"\caption{{{latex(table.title)}. {latex(' '.join(table.notes))}}}",
        r"\begin{tabular}{ll" + "r" * len(table.columns) + "}",
        r"\toprule",
        " & & " + " & ".join(map(latex, table.columns)) + r" \\",
    ]
    for first, second, cells in table.rows:
        if first:
            lines.append(r"\midrule")
        texts = [latex(first), latex(second), *map(latex_cell, cells)]
        lines.append(" & ".join(texts) + r" \\")
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", r"\end{table*}"]) + "\n"


def plain(cell: Cell) -> str:
    """Text and marks of a cell, the marks in brackets where they are letters."""
    return cell.text + "".join(f"[{m}]" if m.isalpha() else f" {m}" for m in cell.marks)


def markdown_cell(cell: Cell) -> str:
    """A cell in Markdown."""
    text = f"**{cell.text}**" if cell.bold else cell.text
    marks = (f"<sup>{m}</sup>" if m.isalpha() else " " + m.replace("*", r"\*") for m in cell.marks)
    return text + "".join(marks)


def latex_cell(cell: Cell) -> str:
    """A cell in LaTeX."""
    text = rf"\textbf{{{latex(cell.text)}}}" if cell.bold else latex(cell.text)
    marks = (rf"\textsuperscript{{{LATEX_MARKS.get(mark, mark)}}}" for mark in cell.marks)
    return text + "".join(marks)


def latex(text: str) -> str:
    """Text with the characters replaced that LaTeX would misread."""
    return "".join(LATEX_CHARACTERS.get(character, character) for character in text)


RENDERERS = {"txt": to_terminal, "md": to_markdown, "tex": to_latex}

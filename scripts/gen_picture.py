#!/usr/bin/env python3
"""Write docs/examples/mpi/exchange.svg: the example's command, and what it printed.

.venv/bin/python scripts/gen_picture.py FOLDER   FOLDER: an environment with its requirements.txt
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Final

ROOT: Final = Path(__file__).resolve().parents[1]
EXAMPLE: Final = ROOT / "docs" / "examples" / "mpi"
PICTURE: Final = EXAMPLE / "exchange.svg"
TITLE: Final = "MPI on GPU memory, no GPU"
COMMAND: Final = "emuzero run -- mpirun -genv I_MPI_OFFLOAD 1 -n 2 python exchange.py"
"""What a user types in the example's folder."""
LINE_HEIGHT: Final = 20
CHARACTER: Final = 8.1
"""Width of a character, in pixels; lines are fitted to it whatever font there is."""
MARGIN: Final = 20

if TYPE_CHECKING:
    from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path, help="an environment with the example's packages")
    options = parser.parse_args(arguments)
    folders = [options.folder.absolute() / "bin", Path(sys.executable).parent]
    done = subprocess.run(
        COMMAND.split(),
        cwd=EXAMPLE,
        env={**os.environ, "PATH": os.pathsep.join([*map(str, folders), os.environ["PATH"]])},
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    if done.returncode:
        print(f"{COMMAND}: exit code {done.returncode}", file=sys.stderr)
        return 1
    PICTURE.write_text(render([f"$ {COMMAND}", *done.stdout.splitlines()]), encoding="utf-8")
    return 0


def render(lines: Sequence[str]) -> str:
    """Return a terminal with these lines, the first of which is what was typed."""
    width = round(2 * MARGIN + CHARACTER * max(map(len, lines)))
    height = 2 * MARGIN + LINE_HEIGHT * (len(lines) + 1)
    font = 'font-family="ui-monospace, Menlo, Consolas, monospace" font-size="13.5"'
    place = f'x="{width / 2:g}" y="{MARGIN + 4}" text-anchor="middle"'
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" {font}>',
            f"<title>{escape(TITLE)}</title>",
            f'<rect width="{width}" height="{height}" rx="8" fill="#16202c"/>',
            f'<text {place} fill="#8fa3b8" font-family="sans-serif">{escape(TITLE)}</text>',
            *(_line(number, text) for number, text in enumerate(lines, 1)),
            "</svg>\n",
        ]
    )


def _line(number: int, text: str) -> str:
    """Return one line of a terminal; what was typed stands out."""
    shown = text.lstrip(" ")
    left = MARGIN + CHARACTER * (len(text) - len(shown))
    top = MARGIN + 4 + LINE_HEIGHT * (number + 0.4)
    colour = "#7ee787" if number == 1 else "#e6edf3"
    return (
        f'<text x="{left:g}" y="{top:g}" textLength="{CHARACTER * len(shown):g}"'
        f' lengthAdjust="spacingAndGlyphs" fill="{colour}">{escape(shown)}</text>'
    )


if __name__ == "__main__":
    sys.exit(main())

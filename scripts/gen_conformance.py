#!/usr/bin/env python3
"""Write docs/conformance.md: every promised behaviour beside the tests that prove it.

.venv/bin/python scripts/gen_conformance.py            write it
.venv/bin/python scripts/gen_conformance.py --check    write nothing; exit 1 when it is stale

Both exit 1 and tell why when the page would not be true: a behaviour with neither test nor reason,
an unknown id in a marker, a reason although a test exists.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

ROOT: Final = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # when it is run by its path

from scripts import environment  # noqa: E402

environment.enter()

from scripts.conformance import ledger, markers, page, verdict  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return the exit status."""
    options = _options(arguments)
    try:
        data = ledger.load(options.data.read_text(encoding="utf-8"))
    except (OSError, ledger.LedgerError) as error:
        print(f"{options.data}: {error}", file=sys.stderr)
        return 1
    found = markers.collect(options.tests)
    verdicts = verdict.judge(data, found.marks)
    problems = [*found.problems, *verdict.problems(data, found.marks, verdicts)]
    for line in problems:
        print(line, file=sys.stderr)
    for title, rows, proved, left in page.counts(verdicts):
        print(f"{title:32} {rows:4} rows  {proved:4} proved  {left:4} open")
    if problems:
        return 1
    tests = Path(os.path.relpath(options.tests, options.page.parent)).as_posix()
    text = page.render(data, verdicts, tests)
    if options.page.is_file() and options.page.read_text(encoding="utf-8") == text:
        return 0
    if options.check:
        print(
            f"stale: {options.page}: run .venv/bin/python scripts/gen_conformance.py",
            file=sys.stderr,
        )
        return 1
    options.page.write_text(text, encoding="utf-8")
    print(f"written: {options.page}")
    return 0


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--check", action="store_true", help="only tell what is wrong")
    docs = ROOT / "docs"
    parser.add_argument("--data", type=Path, default=docs / "conformance.toml", help="the data")
    parser.add_argument("--page", type=Path, default=docs / "conformance.md", help="the page")
    parser.add_argument("--tests", type=Path, default=ROOT / "tests", help="the folder of tests")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())

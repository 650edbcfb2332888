"""Extensions that the demo can show, each by one example file."""

from __future__ import annotations

from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

import click
from click.shell_completion import CompletionItem

if TYPE_CHECKING:
    from collections.abc import Mapping

EXAMPLES: Final = Path(__file__).resolve().parents[2] / "examples"


class Entry(NamedTuple):
    """One extension."""

    file: Path
    extension: str
    """Its name in the specification."""
    summary: str


def _entry(file: str, extension: str, summary: str) -> Entry:
    return Entry(EXAMPLES / file, f"ZE_extension_{extension}", summary)


EXTENSIONS: Final[Mapping[str, Entry]] = {
    "range": _entry(
        "range_export.py",
        "ipc_phys_mem_handle_range",
        "Share a range of several physical objects through one handle.",
    ),
    "external-memory": _entry(
        "external_memory.py",
        "external_memmap_sysmem",
        "Let the device work on the application's own memory, without a copy.",
    ),
    "free-policy": _entry(
        "free_policy.py",
        "memory_free_policies",
        "Free memory that a device works with: wait, or let the work take it along.",
    ),
    "relaxed-limits": _entry(
        "relaxed_limits.py",
        "relaxed_allocation_limits",
        "Allocate more in one piece than the device allows by default.",
    ),
    "compression": _entry(
        "compression_hints.py",
        "memory_compression_hints",
        "Hint which memory is worth compressing; its content stays the same.",
    ),
    "handle-type": _entry(
        "handle_type.py",
        "ipc_mem_handle_type",
        "Ask for a default or a fabric handle, and meet the refusal.",
    ),
}


class ExtensionType(click.ParamType[Entry, object]):
    """The name of an extension on the command line."""

    name = "extension"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> Entry:
        """Return the entry of a name; also the specification's name is understood."""
        if isinstance(value, Entry):
            return value
        text = str(value)
        by_extension = {entry.extension: entry for entry in EXTENSIONS.values()}
        found = EXTENSIONS.get(text) or by_extension.get(text)
        if found is not None:
            return found
        near = get_close_matches(text.lower().replace("_", "-"), EXTENSIONS, n=1)
        advice = f"did you mean {near[0]}?" if near else f"there are {', '.join(EXTENSIONS)}."
        return self.fail(f"no example shows {text!r}; {advice}", param, ctx)

    def shell_complete(
        self,
        ctx: click.Context,  # noqa: ARG002 - click's signature
        param: click.Parameter,  # noqa: ARG002
        incomplete: str,
    ) -> list[CompletionItem[str]]:
        """Complete names."""
        return [
            CompletionItem(name, help=entry.summary)
            for name, entry in EXTENSIONS.items()
            if name.startswith(incomplete)
        ]


EXTENSION: Final = ExtensionType()

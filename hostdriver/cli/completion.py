"""`emuzero completion`: what a shell has to run to complete commands and options."""

from __future__ import annotations

from typing import Final

import click
from click.shell_completion import CompletionItem, get_completion_class

from hostdriver.cli.exits import CommandError
from hostdriver.cli.trace.vocabulary import functions

VARIABLE: Final = "_EMUZERO_COMPLETE"
"""Environment variable by which the shell asks for completions."""
INSTALL: Final = {
    "bash": 'Add to ~/.bashrc: eval "$(emuzero completion bash)"',
    "zsh": 'Add to ~/.zshrc: eval "$(emuzero completion zsh)"',
    "fish": "Run once: emuzero completion fish > ~/.config/fish/completions/emuzero.fish",
}


def complete_files(
    _: click.Context, __: click.Parameter, incomplete: str
) -> list[CompletionItem[str]]:
    """Have the shell complete names of files: a program and what it is given."""
    return [CompletionItem(incomplete, type="file")]


def complete_functions(_: click.Context, __: click.Parameter, incomplete: str) -> list[str]:
    """Return the functions of the interface that begin like this."""
    return [one.name for one in functions() if one.name.startswith(incomplete)]


@click.command()
@click.argument("shell", type=click.Choice(list(INSTALL)))
@click.pass_context
def command(ctx: click.Context, shell: str) -> None:
    """Print the lines that make a SHELL complete emuzero's commands and options.

    \b
    bash:  eval "$(emuzero completion bash)"        in ~/.bashrc
    zsh:   eval "$(emuzero completion zsh)"         in ~/.zshrc
    fish:  emuzero completion fish > ~/.config/fish/completions/emuzero.fish
    """  # noqa: D301 - \b keeps click from filling the lines
    found = get_completion_class(shell)
    if found is None:
        raise CommandError(f"this version of click knows no completion for {shell}")
    source = found(ctx.find_root().command, {}, "emuzero", VARIABLE).source()
    click.echo(f"# {INSTALL[shell]}\n{source.strip()}")

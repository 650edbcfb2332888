"""`emuzero completion`: what a shell has to run to complete commands and options."""

from __future__ import annotations

from typing import Final

import click
from click.shell_completion import get_completion_class

from hostdriver.cli.exits import CommandError

VARIABLE: Final = "_EMUZERO_COMPLETE"
"""Environment variable by which the shell asks for completions."""
INSTALL: Final = {
    "bash": 'Add to ~/.bashrc: eval "$(emuzero completion bash)"',
    "zsh": 'Add to ~/.zshrc: eval "$(emuzero completion zsh)"',
    "fish": "Run once: emuzero completion fish > ~/.config/fish/completions/emuzero.fish",
}


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

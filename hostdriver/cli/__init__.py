"""The command line: `emuzero serve`, `emuzero status`, `emuzero demo` and their exit codes."""

__all__: list[str] = []

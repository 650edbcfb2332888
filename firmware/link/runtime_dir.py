"""Where emulators listen: the user's socket folder, and sockets in it.

The folder is XDG_RUNTIME_DIR/emuzero, else /tmp/emuzero-UID; it belongs to the user and is closed
to everybody else. The kernel takes socket names of 107 bytes; a longer one is reached through
/proc/self/fd, so that the folder may be anywhere.
"""

from __future__ import annotations

import contextlib
import errno
import os
import socket
import stat
from pathlib import Path
from typing import TYPE_CHECKING, Final

from firmware.link.errors import AttachError, NoResources
from firmware.link.locks import locked

if TYPE_CHECKING:
    from collections.abc import Generator

LONGEST_NAME: Final = 107
"""Bytes of a Unix socket's name, without the zero behind it."""
_TEMPORARY: Final = Path("/tmp")  # noqa: S108 - owner and rights of the folder are checked
_PRIVATE_FOLDER: Final = 0o700
_PRIVATE_SOCKET: Final = 0o600
_NO_RESOURCES: Final = {errno.EMFILE, errno.ENFILE}
_NOBODY_LISTENS: Final = {errno.ECONNREFUSED, errno.ENOENT}


def socket_folder(temporary: Path = _TEMPORARY) -> Path:
    """Return this user's folder for sockets, made if there is none.

    Args:
        temporary: where it stands for users without a runtime folder.

    Raises:
        AttachError: it cannot be made, belongs to another user, or others may use it.
    """
    runtime = os.environ.get("XDG_RUNTIME_DIR", "")
    if runtime.startswith("/") and Path(runtime).is_dir():
        folder = Path(runtime) / "emuzero"
    else:
        folder = temporary / f"emuzero-{os.geteuid()}"
    try:
        folder.mkdir(mode=_PRIVATE_FOLDER, exist_ok=True)
    except OSError as error:
        raise AttachError(f"the socket folder {folder} cannot be made: {error}") from error
    check_folder(folder)
    return folder


def check_folder(folder: Path) -> None:
    """Do nothing for a folder that this user alone can use.

    Raises:
        AttachError: it is none, a link, another user's, or open to others.
    """
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode):
        raise AttachError(f"the socket folder {folder} is no folder")
    if found.st_uid != os.geteuid():
        raise AttachError(
            f"the socket folder {folder} belongs to user {found.st_uid}, expected {os.geteuid()}"
        )
    if found.st_mode & 0o077:
        raise AttachError(
            f"the socket folder {folder} is open to others (mode {found.st_mode & 0o777:#o},"
            f" expected {_PRIVATE_FOLDER:#o})"
        )


@contextlib.contextmanager
def _short_name(path: Path) -> Generator[str]:
    """Give a name of the socket at `path` that the kernel takes.

    Raises:
        AttachError: the last part of the path alone is too long, or there is no such folder.
    """
    if len(os.fsencode(path)) <= LONGEST_NAME:
        yield str(path)
        return
    try:
        folder = os.open(path.parent, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise AttachError(f"no folder {path.parent}: {error}") from error
    try:
        name = f"/proc/self/fd/{folder}/{path.name}"
        if len(os.fsencode(name)) > LONGEST_NAME:
            raise AttachError(f"the socket's name {path.name} is too long for the kernel")
        yield name
    finally:
        os.close(folder)


def listen_socket(path: Path, backlog: int = 64) -> socket.socket:
    """Return a SOCK_SEQPACKET socket that listens at `path` for this user alone.

    A socket at that path to which nobody listens any more is replaced.

    Raises:
        AttachError: somebody listens there, something else is there, or it cannot be bound.
    """
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    try:
        # The mode is set before the name exists, so that there is no moment without it.
        os.fchmod(listener.fileno(), _PRIVATE_SOCKET)
        with _alone_in(path.parent), _short_name(path) as name:
            _remove_stale(path)
            listener.bind(name)
            listener.listen(backlog)
    except OSError as error:
        listener.close()
        raise AttachError(f"cannot listen at {path}: {error}") from error
    except BaseException:
        listener.close()
        raise
    return listener


def _alone_in(folder: Path) -> contextlib.AbstractContextManager[bool]:
    """Keep others that start at the same moment from the folder's sockets."""
    return locked(folder, os.O_RDONLY | os.O_DIRECTORY)


def is_stale(path: Path) -> bool:
    """Return whether a socket is left over from an emulator that is gone.

    Raises:
        AttachError: whether somebody listens cannot be found out.
    """
    try:
        if not stat.S_ISSOCK(path.lstat().st_mode):
            return False
    except FileNotFoundError:
        return False
    try:
        # Without waiting: an emulator that hangs must not make us hang.
        connect_socket(path, blocking=False).close()
    except AttachError as error:
        cause = error.__cause__
        if isinstance(cause, OSError) and cause.errno in _NOBODY_LISTENS:
            return True
        if isinstance(cause, BlockingIOError):
            return False  # somebody listens and is busy
        raise
    return False


def _remove_stale(path: Path) -> None:
    if is_stale(path):
        path.unlink(missing_ok=True)


def clean_folder(folder: Path) -> list[Path]:
    """Remove every socket of a folder to which nobody listens; return those removed."""
    with _alone_in(folder):
        stale = [path for path in sorted(folder.iterdir()) if is_stale(path)]
        for path in stale:
            path.unlink(missing_ok=True)
    return stale


def connect_socket(path: Path, *, blocking: bool = True) -> socket.socket:
    """Return a socket connected to whoever listens at `path`.

    Args:
        path: the socket.
        blocking: whether to wait while many others wait to be accepted.

    Raises:
        NoResources: this process has no descriptor left; whether anybody listens is not known.
        AttachError: nobody listens, too many wait already, or the user may not; `__cause__` is
            the OSError.
    """
    try:
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    except OSError as error:
        raise NoResources(f"no socket for {path}: {error}") from error
    connection.setblocking(blocking)
    try:
        with _short_name(path) as name:
            connection.connect(name)
    except OSError as error:
        connection.close()
        raise not_connected(path, error) from error
    except BaseException:
        connection.close()
        raise
    return connection


def not_connected(path: Path, error: OSError) -> AttachError:
    """Return what connecting to `path` raises because of an error of the system."""
    if error.errno in _NO_RESOURCES:
        return NoResources(f"no descriptor for {path}: {error}")
    return AttachError(f"no emulator answers at {path}: {error}")

"""What goes wrong with files, in the protocol's words."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

from agenthost.errors import (
    AlreadyExists,
    Conflict,
    InternalError,
    InvalidParams,
    NotFound,
    PermissionDenied,
    WireError,
)
from agenthost.workspace.file_trees import UnfitPath
from agenthost.workspace.files import ChangedMeanwhile
from agenthost.workspace.roots import OutsideRoots

if TYPE_CHECKING:
    from agenthost.protocol.common import JsonObject

_FORBIDDEN = frozenset({errno.EACCES, errno.EPERM, errno.EROFS, errno.ETXTBSY, errno.EBUSY})
_UNFIT = frozenset(
    {errno.ENOTDIR, errno.EISDIR, errno.EINVAL, errno.ENAMETOOLONG, errno.ELOOP, errno.ENXIO}
)


@contextlib.contextmanager
def wire_errors(member: str, uri: str, request: JsonObject | None = None) -> Iterator[None]:
    """Raise what a client is told; ``member`` names the URI, ``request`` asks for access to it."""
    try:
        yield
    except OutsideRoots:
        # One answer for all that is outside, there or not.
        raise PermissionDenied(
            f"{uri} is outside of the folders that you may reach", request=request
        ) from None
    except UnfitPath as error:
        raise InvalidParams(str(error), path=member) from error
    except ChangedMeanwhile as error:
        raise Conflict(str(error)) from error
    except OSError as error:
        raise _of_the_kernel(error, member, uri) from error


def _of_the_kernel(error: OSError, member: str, uri: str) -> WireError:
    said = os.strerror(error.errno) if error.errno is not None else "it failed"
    if isinstance(error, FileNotFoundError):
        return NotFound(f"there is no {uri}")
    if isinstance(error, FileExistsError):
        return AlreadyExists(f"{uri} is there already")
    if error.errno in _FORBIDDEN:
        return PermissionDenied(f"the host may not do that to {uri}: {said}")
    if error.errno in _UNFIT:
        return InvalidParams(f"{uri}: {said}", path=member)
    return InternalError(f"{uri}: {said}")

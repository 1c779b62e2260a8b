"""A network of one's own, with nothing in it but the loopback address.

VS Code is foreign code that likes to call home. Where the system lets us, it runs where there is no
way out; elsewhere its settings and the browser's are all that keeps it here.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import socket
import struct
import subprocess
import sys

__all__ = ["go_alone"]

# Set in the process that is alone already.
ALONE = "AGENTHOST_INTEROP_ALONE"
GET_FLAGS, SET_FLAGS, UP = 0x8913, 0x8914, 0x1


def go_alone() -> None:
    """Run this program anew without a network, if that can be had."""
    if os.environ.get(ALONE):
        _raise_loopback()
        return
    unshare = shutil.which("unshare")
    # Who is not root may do this as the root of a user namespace, on most systems.
    options = ["--net"] if os.geteuid() == 0 else ["--net", "--user", "--map-root-user"]
    if (
        unshare is None
        or subprocess.run([unshare, *options, "true"], capture_output=True).returncode
    ):
        print("no network namespace to be had: VS Code could reach the network", flush=True)
        return
    command = [unshare, *options, "--", *sys.orig_argv]
    os.execve(unshare, command, {**os.environ, ALONE: "1"})


def _raise_loopback() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        request = struct.pack("16sh14x", b"lo", 0)
        flags = struct.unpack("16sh14x", fcntl.ioctl(probe, GET_FLAGS, request))[1]
        fcntl.ioctl(probe, SET_FLAGS, struct.pack("16sh14x", b"lo", flags | UP))

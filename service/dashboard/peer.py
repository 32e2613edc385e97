"""Whose connection it is, as far as the kernel of this machine tells.

The address that opens the dashboard stands in the list of processes while a browser is started,
where every user of a Linux machine can read it. So its code is worth nothing to another user.
"""

import os
import socket
import struct
from pathlib import Path

Address = tuple[str, int]
_TABLES = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))
_LOCAL, _REMOTE, _USER = 1, 2, 7  # columns
_ROOT = 0  # may read all that is ours anyway; the bridge of WSL to its browser is root's


def is_of_another(client: Address, server: Address) -> bool:
    """Tell whether a connection is known to come from another user of this machine."""
    owner = owner_of(client, server)
    return owner is not None and owner not in {os.getuid(), _ROOT}


def owner_of(client: Address, server: Address) -> int | None:
    """Return who holds the other end of an IPv4 connection; None when no kernel tells."""
    for table in _TABLES:
        try:
            lines = table.read_text("ascii").splitlines()[1:]
        except OSError:
            continue
        ends = {_written(client), _mapped(client)}, {_written(server), _mapped(server)}
        for fields in map(str.split, lines):
            if fields[_LOCAL] in ends[0] and fields[_REMOTE] in ends[1]:
                return int(fields[_USER])
    return None


def _written(address: Address) -> str:
    """Return an address as the kernel writes it: words in the order of the machine."""
    (word,) = struct.unpack("=I", socket.inet_aton(address[0]))
    return f"{word:08X}:{address[1]:04X}"


def _mapped(address: Address) -> str:
    """Return it as a socket of IPv6 has it."""
    words = struct.unpack("=4I", socket.inet_pton(socket.AF_INET6, f"::ffff:{address[0]}"))
    return f"{''.join(f'{word:08X}' for word in words)}:{address[1]:04X}"

"""Sockets that a daemon listens at: one that has a path, or a TCP port."""

import ipaddress
import os
import re
import socket
from pathlib import Path

from shiyi.core.errors import UsageError
from shiyi.core.files import owner_only

IPAddress = ipaddress.IPv4Address | ipaddress.IPv6Address
LOOPBACK = "127.0.0.1"
_NAME = re.compile(r"[a-z0-9_]([a-z0-9_.-]{0,251}[a-z0-9_])?", re.IGNORECASE)


def unix_socket(path: Path) -> socket.socket:
    """Return a socket at a path that only its owner can reach."""
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    with owner_only():
        listener.bind(str(path))
    path.chmod(0o600)
    return listener


def tcp_socket(bind: str, port: int) -> socket.socket:
    """Return a bound socket; the protocol is named, else asyncio leaves Nagle's delay on.

    Raises UsageError when the port cannot be had.
    """
    family = socket.AF_INET6 if ":" in bind else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    if os.name == "posix":
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((bind, port))
    except (OSError, OverflowError) as error:
        listener.close()
        reason = error.strerror if isinstance(error, OSError) else "no such port"
        raise UsageError(
            f"{in_url(bind)}:{port} cannot be listened at ({reason}); choose another --port."
        ) from None
    return listener


def address_of(bind: str) -> IPAddress:
    """Return an IP address to listen at; raises UsageError for a name or anything else."""
    try:
        return ipaddress.ip_address(bind)
    except ValueError:
        raise UsageError("--bind takes an IP address, such as 127.0.0.1.") from None


def host_name(name: str) -> str:
    """Return a host name or address by which requests name a machine; raises UsageError."""
    try:
        return str(ipaddress.ip_address(name))
    except ValueError:
        if _NAME.fullmatch(name):
            return name.lower()
    raise UsageError(
        "--name takes a host name or an IP address as it stands in an address, without a port."
    )


def in_url(name: str) -> str:
    """Return a host's name or address as it stands in an address."""
    return f"[{name}]" if ":" in name else name

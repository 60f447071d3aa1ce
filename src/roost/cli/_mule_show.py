"""`roost mule show FILE`: what is in a mule's file; nothing is verified."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from roost.cli._output import show

if TYPE_CHECKING:
    from roost.host.mule import Loaded
    from roost.pubsub.blobs.cargo import Cargo

_SHOWN: Final = 10  # names of a stream


async def first_of(path: Path) -> Cargo:
    """Whose a file is; not verified."""
    return (await _read(path))[0]


async def _read(path: Path) -> tuple[Cargo, Loaded]:
    from roost.host.mule import Verifying, read_cargo

    return await read_cargo(path, Verifying.by(_believe))


async def _believe(_: object) -> None:
    """Who only looks believes anything."""


async def show_file(options: argparse.Namespace) -> int:
    """Say what is in it, stream by stream."""
    cargo, loaded = await _read(options.file)
    version = cargo.naming.version
    lines = [f"group {cargo.group}, version {version} (nothing was verified)"]
    streams: list[dict[str, Any]] = []
    for stream in sorted(cargo.highs):
        packets = [key for key in cargo.packets if key[0] == stream]
        size = sum(len(cargo.packets[key]) for key in packets)
        held, high = len({number for _, number, _ in packets}), cargo.highs[stream]
        names = sorted({str(entry.name) for entry in cargo.entries[stream].values()})
        lines.append(f"{stream.name}: {held} of {high} publications, {len(packets)} packets, {size} bytes")
        lines += [f"  {name}" for name in names[:_SHOWN]]
        if len(names) > _SHOWN:
            lines.append(f"  and {len(names) - _SHOWN} more names")
        counts = {"publications": held, "highest": high, "packets": len(packets), "size_bytes": size}
        streams.append({"stream": str(stream.name), **counts, "names": names})
    lines.append(f"{len(cargo.vouchers)} certificates")
    lines += [loaded.trouble] if loaded.trouble else []
    told = {"file": str(options.file), "group": str(cargo.group), "version": version, "streams": streams}
    told |= {"certificates": [str(name) for name in sorted(cargo.vouchers)], "trouble": loaded.trouble}
    return show(options, told, lines)

# SPDX-License-Identifier: Apache-2.0
"""Where set-up has put the kernels, and the initramfs that starts them."""

import hashlib
import lzma
import os
import re
import shutil
import stat
import struct
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from .errors import VmError

# What the way to the root file system and to COMMAND's standard streams takes.
BOOT_MODULES = ("virtio_pci", "9pnet_virtio", "9p", "overlay", "virtio_console")

# At the end of a signed module: signature, header with its length last, mark.
SIGNATURE_MARK = b"~Module signature appended~\n"
SIGNATURE_HEADER = 12

APPLETS = ("sh", "mount", "insmod", "mkdir", "switch_root", "poweroff", "cat", "echo", "cp", "ln")


def cache_dir() -> Path:
    """The cache that set-up fills."""
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return Path(base) / "ai0"


@dataclass(frozen=True)
class Kernel:
    """A kernel that can be booted."""

    image: Path
    modules: Path  # holds kernel/, modules.dep
    release: str


def find_kernel(name: str) -> Kernel:
    """The kernel that set-up made, or a VmError that says how to make it."""
    root = cache_dir() / "kernel" / name
    target = "setup" if name == "stock" else "debug-kernel"
    try:
        release = (root / "release").read_text().strip()
    except OSError as error:
        raise VmError(f"there is no {name} kernel in {root} ({error.strerror}); "
                      f"'make {target}' makes it") from error
    kernel = Kernel(root / "vmlinuz", root / "lib/modules" / release, release)
    for path in (kernel.image, kernel.modules / "modules.dep"):
        if not path.exists():
            raise VmError(f"the {name} kernel lacks {path}; remove {root} and run 'make {target}'")
    return kernel


def _module_files(kernel: Kernel) -> list[Path]:
    """The modules to load at boot, each after those it needs; built-in ones need none."""
    depends: dict[str, list[str]] = {}
    for line in (kernel.modules / "modules.dep").read_text().splitlines():
        file, _, needs = line.partition(":")
        depends[file] = needs.split()
    by_name = {Path(file).name.split(".")[0].replace("-", "_"): file for file in depends}
    order: list[str] = []

    def add(file: str) -> None:
        for need in reversed(depends[file]):
            add(need)
        if file not in order:
            order.append(file)

    for name in BOOT_MODULES:
        if name in by_name:
            add(by_name[name])
    return [kernel.modules / file for file in order]


def _unpack(source: Path, target: Path) -> None:
    data = source.read_bytes()
    if source.suffix == ".xz":
        data = lzma.decompress(data)
    target.write_bytes(_unsigned(data))


def _unsigned(module: bytes) -> bytes:
    """A module without its signature, which an emulated CPU checks for 150 ms."""
    if not module.endswith(SIGNATURE_MARK):
        return module
    end = len(module) - len(SIGNATURE_MARK) - SIGNATURE_HEADER
    (length,) = struct.unpack_from(">I", module, end + SIGNATURE_HEADER - 4)
    return module[:end - length]


def module_depends(module: Path) -> list[str]:
    """The modules that a module says it needs."""
    match = re.search(rb"\0depends=([^\0]*)\0", module.read_bytes())
    return match[1].decode().split(",") if match and match[1] else []


def make_initramfs(kernel: Kernel, scripts: list[Path]) -> Path:
    """The initramfs, from the cache if nothing in it has changed."""
    busybox = shutil.which("busybox")
    if not busybox:
        raise VmError("busybox is not installed; 'make setup' installs busybox-static")
    modules = _module_files(kernel)
    digest = hashlib.sha256()
    # This file as well: it says how they are put together.
    for path in [Path(busybox), Path(__file__), *scripts, *modules]:
        digest.update(f"{path.name} {path.stat().st_size}\n".encode())
        digest.update(path.read_bytes())
    target = cache_dir() / "initramfs" / f"{digest.hexdigest()[:32]}.cpio.zst"
    if target.exists():
        return target

    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent) as folder:
        tree = Path(folder) / "tree"
        for name in ("bin", "modules", "proc", "sys", "dev", "new", "lower", "upper"):
            (tree / name).mkdir(parents=True)
        shutil.copy(busybox, tree / "bin/busybox")
        for applet in APPLETS:
            (tree / "bin" / applet).symlink_to("busybox")
        for script in scripts:
            shutil.copy(script, tree / script.name)
            (tree / script.name).chmod(stat.S_IRWXU)
        for number, module in enumerate(modules):
            _unpack(module, tree / "modules" / f"{number:02}-{module.name.split('.')[0]}.ko")
        packed = Path(folder) / "packed"
        subprocess.run("find . | cpio -o -H newc --quiet | zstd -q -3 -o ../packed", shell=True,
                       cwd=tree, check=True)
        packed.rename(target)
    return target

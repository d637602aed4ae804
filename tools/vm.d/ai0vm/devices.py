# SPDX-License-Identifier: Apache-2.0
"""The reference NPUs of a VM: their processes, and faults on demand."""

import ctypes
import os
import signal
import socket
import subprocess
import threading
from pathlib import Path

from .errors import VmError
from .kernels import cache_dir
from .streams import Port

PR_SET_PDEATHSIG = 1
VECTORS = 4


def die_with_parent() -> None:
    """In a child before exec: no process is left when tools/vm is killed."""
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    os.setpgid(0, 0)


class Npu:
    """One device model process."""

    def __init__(self, repository: Path, folder: Path, name: str, profile: str, slot: int,
                 ram: Path, ram_bytes: int) -> None:
        self.name = name
        self.slot = slot
        self.socket = folder / f"{name}.sock"
        self.control = folder / f"{name}.ctl"
        self.log = folder / f"{name}.log"
        program = repository / "build/bin/ai-npu-model"
        key = repository / "build/firmware/ai0/fw-signing.pub.pem"
        for path in (program, key):
            if not path.exists():
                raise VmError(f"{path} is not there; 'make build' builds it")
        # A folder with nothing in it: a model may name files relative to it.
        nothing = folder / f"{name}.cwd"
        nothing.mkdir()
        cache = cache_dir() / "npu"
        cache.mkdir(parents=True, exist_ok=True)
        self._process = subprocess.Popen(
            [str(program), "--profile", profile, "--socket", str(self.socket),
             "--control", str(self.control), "--ram", str(ram), "--ram-size", str(ram_bytes),
             "--cache", str(cache), "--key", str(key), "--log", str(self.log)],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, cwd=nothing,
            preexec_fn=die_with_parent)
        assert self._process.stdout is not None
        line = self._process.stdout.readline().decode(errors="replace").strip()
        if line != "ready":
            raise VmError(f"the process of {name} said '{line}' instead of 'ready'; its log "
                          f"says: {self.log_tail()}")

    def log_tail(self) -> str:
        """The end of the process's log."""
        try:
            return self.log.read_text(errors="replace")[-2000:]
        except OSError:
            return "nothing"

    def qemu_args(self) -> list[str]:
        """A slot of its own, whose bridge can be told to forward nothing."""
        return ["-device", f"pcie-root-port,id=slot{self.slot},slot={self.slot},"
                           f"chassis={self.slot}",
                "-chardev", f"socket,id={self.name},path={self.socket}",
                "-device", f"ivshmem-doorbell,bus=slot{self.slot},id={self.name},"
                           f"chardev={self.name},vectors={VECTORS}"]

    def command(self, words: str) -> str:
        """One line to its control socket, one line back."""
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(30)
            connection.connect(str(self.control))
            connection.sendall(words.encode() + b"\n")
            with connection.makefile("r") as answer:
                return answer.readline().strip() or "error the device gave no answer"

    def close(self) -> None:
        """End the process."""
        self._process.terminate()
        try:
            self._process.wait(timeout=3)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


class Control:
    """Carries lines from vmctl inside the VM to the devices, and the answers back."""

    def __init__(self, folder: Path, npus: list[Npu]) -> None:
        self.port = Port(folder, "ctl")
        self._npus = {npu.name: npu for npu in npus}

    def start(self) -> None:
        """Begin to serve."""
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        try:
            with self.port.connection().makefile("rwb", buffering=0) as stream:
                for line in stream:
                    words = line.decode(errors="replace").strip()
                    stream.write(self._answer(words).encode() + b"\n")
        except OSError:
            pass

    def _answer(self, words: str) -> str:
        name, _, rest = words.partition(" ")
        npu = self._npus.get(name)
        if npu is None:
            return f"error device '{name}' is not in this VM, which has: " \
                   f"{' '.join(self._npus) or 'none'}"
        try:
            return npu.command(rest)
        except (OSError, ValueError) as error:
            return f"error {name} cannot be reached: {error}"

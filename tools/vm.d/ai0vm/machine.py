# SPDX-License-Identifier: Apache-2.0
"""A VM: QEMU, its devices, its folder."""

import contextlib
import hashlib
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

from .devices import Control, Npu, die_with_parent
from .errors import VmError
from .kernels import Kernel, cache_dir, find_kernel, make_initramfs, module_depends
from .splat import find_splat
from .streams import Streams

# What costs most at boot and serves nobody here: signatures of modules, entropy from
# jitter. Without them an emulated CPU takes 1.1 instead of 2.0 thousand million
# instructions to the first process.
NOT_AT_BOOT = ("load_system_certificate_list", "jent_mod_init")


FOLDER = "ai0-vm-"

# COMMAND's status when the kernel died under it.
EXIT_DIED = 125


@dataclass
class Options:
    """What tools/vm was asked for."""

    repository: Path
    kernel: str
    devices: list[str]
    sim: str
    icount: bool
    memory: int  # MiB
    timeout: float | None
    env: list[str]
    modules: bool
    kmemleak: bool
    console: bool
    command: list[str] = field(default_factory=list)


@dataclass
class Result:
    """How COMMAND ended, and what the kernel said."""

    status: int
    splat: str


def kvm_works(kernel: Kernel, initramfs: Path) -> bool:
    """Whether a guest really boots under KVM: a node alone proves nothing.

    Tried once for each host kernel and QEMU, since it takes a moment.
    """
    if not os.access("/dev/kvm", os.R_OK | os.W_OK):
        return False
    qemu = subprocess.run(["qemu-system-x86_64", "--version"], capture_output=True, check=True)
    key = hashlib.sha256(os.uname().release.encode() + qemu.stdout).hexdigest()[:16]
    known = cache_dir() / f"kvm-{key}"
    if known.exists():
        return known.read_text() == "yes"
    try:
        trial = subprocess.run(
            ["qemu-system-x86_64", "-M", "q35", "-accel", "kvm", "-cpu", "host", "-m", "256",
             "-nodefaults", "-nographic", "-serial", "stdio", "-no-reboot",
             "-kernel", str(kernel.image), "-initrd", str(initramfs),
             "-append", "console=ttyS0 panic=-1 ai0.probe"],
            capture_output=True, timeout=20, check=False)
        works = b"ai0: probe" in trial.stdout
    except subprocess.TimeoutExpired:
        works = False
    known.write_text("yes" if works else "no")
    return works


def remove_left(base: Path) -> None:
    """Remove the folders of VMs whose tools/vm was killed before it could."""
    for folder in base.glob(f"{FOLDER}[0-9]*-*"):
        owner = folder.name[len(FOLDER):].split("-")[0]
        if not Path("/proc", owner).exists():
            shutil.rmtree(folder, ignore_errors=True)


class Machine:
    """One boot; a context manager, so that nothing is left behind."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._npus: list[Npu] = []
        self._qemu: subprocess.Popen | None = None
        self._streams: Streams | None = None

    def __enter__(self) -> "Machine":
        # Guest memory is a file that the devices map as well.
        folders = []
        for base in (tempfile.gettempdir(), "/dev/shm"):
            remove_left(Path(base))
            folders.append(Path(tempfile.mkdtemp(prefix=f"{FOLDER}{os.getpid()}-", dir=base)))
        self._folder = folders[0]
        self._ram = folders[1] / "ram"
        return self

    def __exit__(self, *_: object) -> None:
        # The last one first; one that fails does not keep the others from it.
        with contextlib.ExitStack() as left:
            for folder in (self._ram.parent, self._folder):
                left.callback(shutil.rmtree, folder, ignore_errors=True)
            for npu in self._npus:
                left.callback(npu.close)
            if self._streams is not None:
                left.callback(self._streams.close)
            if self._qemu is not None and self._qemu.poll() is None:
                left.callback(self._qemu.wait)
                left.callback(self._qemu.kill)

    def run(self) -> Result:
        """Boot, run COMMAND, shut down."""
        options = self._options
        self._check_host()
        kernel = find_kernel(options.kernel)
        support = options.repository / "tools/vm.d"
        initramfs = make_initramfs(kernel, [support / "init", support / "guest"])
        self._write_orders(kernel)
        self._start_npus()
        self._streams = streams = Streams(self._folder, self._folder / "share/begun")
        control = Control(self._folder, self._npus)

        log = self._folder / "console.log"
        self._qemu = subprocess.Popen(
            self._qemu_args(kernel, initramfs, log, streams, control),
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=(self._folder / "qemu.log").open("wb"), preexec_fn=die_with_parent)
        streams.start()
        control.start()
        if options.console:
            threading.Thread(target=self._show_console, args=(log,), daemon=True).start()
        try:
            self._qemu.wait(options.timeout)
        except subprocess.TimeoutExpired:
            raise TimeoutError(f"the command had not ended after {options.timeout:g} s"
                               f"{self._console_end(log)}") from None
        streams.finish()
        return self._result(log)

    def _check_host(self) -> None:
        if not shutil.which("qemu-system-x86_64"):
            raise VmError("qemu-system-x86_64 is not installed; 'make setup' installs it")
        room = os.statvfs(self._ram.parent)
        free = room.f_bavail * room.f_frsize >> 20
        if free < self._options.memory:
            raise VmError(f"/dev/shm has {free} MiB free, the memory of the VM takes "
                          f"{self._options.memory}; make room there, or give less with --memory")

    def _write_orders(self, kernel: Kernel) -> None:
        """What the guest is to do, in files that it reads."""
        options = self._options
        share = self._folder / "share"
        share.mkdir()
        environment = [f"{name}={value}" for name, value in os.environ.items()
                       if name.startswith("AI_") or name in ("TERM", "LANG", "HOME",
                                                             "XDG_CACHE_HOME")]
        sims = sum(int(word[4:]) for word in options.devices if word.startswith("sim:"))
        cwd = Path.cwd()
        if not cwd.is_relative_to(options.repository):
            cwd = options.repository
        modules = options.repository / "build" / options.kernel / "kmod"
        wanted = []
        if options.modules:
            wanted = ["ai"]
            # In this order the first NPU is npu0 for the kernel as well as for vmctl.
            if any(word in ("npu", "gpu") for word in options.devices):
                wanted.append("ai_npu")
            if sims:
                wanted.append("ai_sim")
            for name in wanted:
                if not (modules / f"{name}.ko").exists():
                    target = "modules-stock" if options.kernel == "stock" else "modules-debug"
                    raise VmError(f"{modules / name}.ko is not there; 'make {target}' builds it "
                                  f"(or use --no-modules)")
        rows, columns = 24, 80
        if sys.stdout.isatty():
            columns, rows = os.get_terminal_size()
        orders = {
            "REPO": options.repository, "CWD": cwd, "KMOD": modules,
            "MODULES": " ".join(wanted), "SIM": f"devices={sims} {options.sim}".strip(),
            "DEPENDS": " ".join(sorted({need for name in wanted
                                        for need in module_depends(modules / f"{name}.ko")
                                        if need not in wanted})),
            "KERNEL_MODULES": kernel.modules, "RELEASE": kernel.release,
            "KMEMLEAK": int(options.kmemleak),
            "TTY": int(sys.stdin.isatty() and sys.stdout.isatty()),
            "ROWS": rows, "COLUMNS": columns,
        }
        command = shlex.join(environment + options.env + options.command)
        orders["QUOTED"] = f"env -- {command}"
        text = "".join(f"VM_{name}={shlex.quote(str(value))}\n" for name, value in orders.items())
        text += f"vm_run() {{ run {command}; }}\n"
        (share / "orders").write_bytes(os.fsencode(text))

    def _start_npus(self) -> None:
        counts: dict[str, int] = {}
        for profile in self._options.devices:
            if profile.startswith("sim:"):
                continue
            number = counts.get(profile, 0)
            counts[profile] = number + 1
            self._npus.append(Npu(self._options.repository, self._folder, f"{profile}{number}",
                                  profile, len(self._npus) + 1, self._ram,
                                  self._options.memory << 20))

    def _qemu_args(self, kernel: Kernel, initramfs: Path, log: Path, streams: Streams,
                   control: Control) -> list[str]:
        options = self._options
        if options.icount:
            cpu = ["-accel", "tcg,thread=single", "-icount", "shift=0,sleep=off", "-smp", "1",
                   "-cpu", "max,erms=off,fsrm=off"]
        elif kvm_works(kernel, initramfs):
            cpu = ["-accel", "kvm", "-smp", "2", "-cpu", "host"]
        else:
            # Not thread=multi: QEMU before 8.1 may then run what the kernel has patched
            # over on the other CPU (an int3 left of static_branch_disable()).
            cpu = ["-accel", "tcg,thread=single", "-smp", "2", "-cpu", "max"]
        share = self._folder / "share"
        # 9p paths go into one option string, in which a comma would end them.
        for path in (options.repository, share):
            if "," in str(path):
                raise VmError(f"the path {path} has a comma, which QEMU's options do not take")
        out = options.repository / "out"
        out.mkdir(exist_ok=True)
        append = "console=ttyS0 quiet loglevel=4 log_buf_len=1M printk.devkmsg=on panic=-1 " \
                 "mitigations=off random.trust_cpu=on edd=off cryptomgr.notests " \
                 f"initcall_blacklist={','.join(NOT_AT_BOOT)}"
        if options.kernel == "debug":
            append += " kasan.fault=report"
        args = ["qemu-system-x86_64", "-nodefaults", "-no-reboot", "-display", "none",
                "-object", f"memory-backend-file,id=ram,size={options.memory}M,"
                           f"mem-path={self._ram},share=on",
                "-M", "q35,memory-backend=ram", "-m", f"{options.memory}M", *cpu,
                "-kernel", str(kernel.image), "-initrd", str(initramfs), "-append", append,
                "-serial", f"file:{log}",
                "-virtfs", "local,path=/,mount_tag=root,security_model=none,readonly=on,"
                           "multidevs=remap",
                "-virtfs", f"local,path={out},mount_tag=out,security_model=none",
                "-virtfs", f"local,path={share},mount_tag=share,security_model=none",
                "-device", "virtio-serial-pci,max_ports=8", *streams.qemu_args(),
                *control.port.qemu_args()]
        for npu in self._npus:
            args += npu.qemu_args()
        return args

    def _result(self, log: Path) -> Result:
        share = self._folder / "share"
        try:
            status = int((share / "status").read_text())
        except (OSError, ValueError):
            console = self._read(log)
            if splat := find_splat(console):
                return Result(EXIT_DIED, splat)
            complaint = self._read(self._folder / "qemu.log").strip()
            raise VmError("the VM ended before the command did; QEMU said: "
                          f"{complaint or 'nothing'}{self._console_end(log)}") from None
        if (share / "trouble").exists():
            raise VmError((share / "trouble").read_text(errors="replace").strip())
        text = (share / "dmesg").read_text(errors="replace")
        return Result(status, find_splat(text))

    @classmethod
    def _console_end(cls, log: Path) -> str:
        """A clause with the last words of the kernel, if it said any."""
        console = cls._read(log)[-3000:].strip()
        return f"; the console ended with:\n{console}" if console else ""

    @staticmethod
    def _read(path: Path) -> str:
        try:
            return path.read_text(errors="replace")
        except OSError:
            return ""

    def _show_console(self, log: Path) -> None:
        while not log.exists():
            time.sleep(0.05)
        with log.open("rb") as stream:
            while True:
                data = stream.read()
                if data:
                    os.write(2, data)
                else:
                    time.sleep(0.1)

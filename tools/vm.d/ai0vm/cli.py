# SPDX-License-Identifier: Apache-2.0
"""The command line of tools/vm."""

import argparse
import math
import os
import re
import signal
import sys
import threading
from pathlib import Path
from typing import NoReturn

from .errors import VmError
from .machine import Machine, Options

EXIT_SPLAT = 123
EXIT_TIMEOUT = 124
EXIT_VM = 125

HELP_END = """\
exit status:
  that of COMMAND; 123 the kernel reported a fault (its words are printed); 124 the
  time-out passed; 125 the VM itself failed; 128 + N ended by signal N

The whole file system of this machine is visible inside, changes to it are
forgotten; only out/ of the repository is shared for writing. The tools of
build/bin are on PATH, and vmctl, which injects faults: vmctl npu0 hang-next.

examples:
  tools/vm --devices npu -- ai-run --list
  tools/vm --kernel debug --devices sim:2 -- tests/kselftest/run
  tools/vm --devices npu,gpu -- bash
"""


def parse_devices(text: str) -> list[str]:
    """The devices of one --devices, "sim:3" as it is."""
    devices = []
    for word in text.split(","):
        if word in ("npu", "gpu"):
            devices.append(word)
        elif word.startswith("sim:") and word[4:].isdigit() and 1 <= int(word[4:]) <= 64:
            devices.append(word)
        else:
            raise argparse.ArgumentTypeError(
                f"device '{word}' is not known; it can be npu, gpu or sim:N with N from 1 to 64")
    return devices


def parse_memory(text: str) -> int:
    """MiB of --memory."""
    if not re.fullmatch("[0-9]{1,9}", text) or not 256 <= int(text) <= 2048:
        raise argparse.ArgumentTypeError(
            f"is '{text}', a whole number of MiB is needed, 256 to 2048: "
            "the devices can reach no more")
    return int(text)


def parse_timeout(text: str) -> float:
    """Seconds of --timeout."""
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    # Not a number compares as neither; what waits takes no more than this.
    if not 0 < seconds <= threading.TIMEOUT_MAX:
        raise argparse.ArgumentTypeError(
            f"is '{text}', a number of seconds above 0 is needed")
    return seconds


def parse_setting(text: str) -> str:
    """NAME=VALUE of --env."""
    if text.find("=") < 1:
        raise argparse.ArgumentTypeError(f"is '{text}', NAME=VALUE is needed")
    return text


class Parser(argparse.ArgumentParser):
    """Answers a mistake with a status that COMMAND seldom gives."""

    def error(self, message: str) -> NoReturn:
        # Of "argument --memory: is 'x'" argparse gives the first two words.
        message = re.sub(r"^argument (\S+): is ", r"\1 is ", message)
        self.exit(EXIT_VM, f"tools/vm: {message}; see tools/vm --help\n")


def parse_args(argv: list[str]) -> argparse.Namespace:
    """The arguments, with COMMAND behind the first --."""
    parser = Parser(
        prog="tools/vm", description="Run COMMAND as root in a VM with ai0's modules loaded.",
        usage="tools/vm [options] -- COMMAND...", epilog=HELP_END,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kernel", choices=("stock", "debug"), default="stock",
                        help="Debian's kernel, or the one that checks itself (default: stock)")
    parser.add_argument("--devices", type=parse_devices, action="extend", default=[],
                        metavar="LIST", help="npu, gpu, sim:N, with commas between (default: none)")
    parser.add_argument("--sim", default="", metavar="PARAMS",
                        help="more parameters for ai_sim.ko, as for insmod")
    parser.add_argument("--icount", action="store_true",
                        help="one CPU that takes one nanosecond an instruction, for counting")
    parser.add_argument("--memory", type=parse_memory, default=2048, metavar="MIB",
                        help="memory of the VM, 256 to 2048 (default: 2048)")
    parser.add_argument("--timeout", type=parse_timeout, metavar="SECONDS",
                        help="end it after that time")
    parser.add_argument("--env", type=parse_setting, action="append", default=[],
                        metavar="NAME=VALUE",
                        help="set in the environment of COMMAND; AI_* are passed on anyway")
    parser.add_argument("--no-modules", action="store_true", help="load no modules of ai0")
    parser.add_argument("--kmemleak", action="store_true",
                        help="with --kernel debug: look for leaks when COMMAND has ended")
    parser.add_argument("--allow-splat", action="store_true",
                        help="do not fail when the kernel reports a fault")
    parser.add_argument("--console", action="store_true",
                        help="show the kernel's console on standard error")
    parser.add_argument("command", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    args = parser.parse_args(argv)
    if args.command[:1] == ["--"]:
        args.command = args.command[1:]
    if not args.command:
        parser.error("COMMAND is missing; put it behind --, for example: tools/vm -- dmesg")
    if args.kmemleak and args.kernel != "debug":
        parser.error("--kmemleak needs --kernel debug")
    return args


def main() -> int:
    """Run tools/vm; returns its exit status."""
    args = parse_args(sys.argv[1:])
    repository = Path(__file__).resolve().parents[3]
    options = Options(repository=repository, kernel=args.kernel, devices=args.devices,
                      sim=args.sim, icount=args.icount, memory=args.memory,
                      timeout=args.timeout, env=args.env, modules=not args.no_modules,
                      kmemleak=args.kmemleak, console=args.console, command=args.command)

    def end(number: int, _frame: object) -> None:
        raise KeyboardInterrupt(number)

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE):
        signal.signal(number, end)
    try:
        with Machine(options) as machine:
            result = machine.run()
    except KeyboardInterrupt as interrupt:
        return 128 + interrupt.args[0]
    except TimeoutError as error:
        print(f"tools/vm: {error}", file=sys.stderr)
        return EXIT_TIMEOUT
    except VmError as error:
        print(f"tools/vm: {error}", file=sys.stderr)
        return EXIT_VM
    if result.splat:
        print(f"tools/vm: the kernel reported a fault:\n{result.splat}", file=sys.stderr)
        if not args.allow_splat:
            return EXIT_SPLAT
    sys.stdout.flush()
    return result.status


if __name__ == "__main__":
    os._exit(main())

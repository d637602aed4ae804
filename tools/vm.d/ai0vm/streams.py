# SPDX-License-Identifier: Apache-2.0
"""COMMAND's standard streams and the control channel, over virtio-serial."""

import contextlib
import os
import selectors
import signal
import socket
import sys
import termios
import threading
import tty
from pathlib import Path

# What Ctrl-C is in raw mode.
INTERRUPT = b"\x03"


class Port:
    """A virtio-serial port: a socket that QEMU connects to."""

    def __init__(self, folder: Path, name: str) -> None:
        self.name = name
        self.path = folder / f"{name}.sock"
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(self.path))
        self._listener.listen(1)
        self._connection: socket.socket | None = None

    def qemu_args(self) -> list[str]:
        """What QEMU needs to know."""
        return ["-chardev", f"socket,id={self.name},path={self.path}",
                "-device", f"virtserialport,chardev={self.name},name=ai0.{self.name}"]

    def connection(self) -> socket.socket:
        """Waits for QEMU the first time."""
        if self._connection is None:
            self._connection, _ = self._listener.accept()
        return self._connection

    def refuse(self) -> None:
        """QEMU has ended: who still waits in connection() gets an OSError."""
        try:
            self._listener.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass

    def close(self) -> None:
        """Ends it."""
        self.refuse()
        self._listener.close()
        if self._connection is not None:
            self._connection.close()


def _start(target: object, *args: object) -> threading.Thread:
    thread = threading.Thread(target=target, args=args, daemon=True)  # type: ignore[arg-type]
    thread.start()
    return thread


def _signal_main(number: signal.Signals) -> None:
    signal.pthread_kill(threading.main_thread().ident or 0, number)


class Streams:
    """Standard input, output and error of COMMAND, binary-clean and apart.

    When the caller sits at a terminal COMMAND gets one, too: then output and
    error are one. @begun is there when COMMAND is.
    """

    def __init__(self, folder: Path, begun: Path) -> None:
        self._begun = begun
        self.terminal = sys.stdin.isatty() and sys.stdout.isatty()
        self._ports = [Port(folder, name) for name in ("stdin", "stdout", "stderr")]
        self._saved: list[object] | None = None
        self._stop_read, self._stop_write = os.pipe()
        self._threads: list[threading.Thread] = []

    def qemu_args(self) -> list[str]:
        """The three ports."""
        return [arg for port in self._ports for arg in port.qemu_args()]

    def start(self) -> None:
        """Begin to carry."""
        if self.terminal:
            self._saved = termios.tcgetattr(0)
            tty.setraw(0)
        _start(self._feed, self._ports[0])
        self._threads = [_start(self._drain, self._ports[1], 1),
                         _start(self._drain, self._ports[2], 2)]

    def finish(self) -> None:
        """Wait until everything has been written; QEMU has ended."""
        for port in self._ports:
            port.refuse()
        for thread in self._threads:
            thread.join()
        self.close()

    def close(self) -> None:
        """End it at once."""
        if self._saved is not None:
            # The terminal may have gone; what follows is to be done all the same.
            with contextlib.suppress(termios.error, OSError):
                termios.tcsetattr(0, termios.TCSADRAIN, self._saved)  # type: ignore[arg-type]
            self._saved = None
        try:
            os.write(self._stop_write, b".")
        except OSError:
            pass
        for port in self._ports:
            port.close()

    def _feed(self, port: Port) -> None:
        try:
            connection = port.connection()
            selector = selectors.DefaultSelector()
            try:
                selector.register(0, selectors.EVENT_READ)
            except (PermissionError, ValueError):
                # A plain file is always readable, and a closed one never.
                self._feed_file(connection)
                return
            selector.register(self._stop_read, selectors.EVENT_READ)
            while True:
                ready = [key.fd for key, _ in selector.select()]
                if self._stop_read in ready:
                    return
                data = os.read(0, 65536)
                if not data:
                    break
                if self.terminal and INTERRUPT in data and not self._begun.exists():
                    # Nobody is there whom the guest's terminal could interrupt.
                    _signal_main(signal.SIGINT)
                    return
                connection.sendall(data)
            self._end_of_input(connection)
        except OSError:
            pass

    @staticmethod
    def _end_of_input(connection: socket.socket) -> None:
        # COMMAND reads the end of its input when nobody is at the other end. Closing
        # would do that as well, but QEMU forgets what it has not yet read then.
        connection.shutdown(socket.SHUT_WR)

    def _feed_file(self, connection: socket.socket) -> None:
        try:
            while data := os.read(0, 65536):
                connection.sendall(data)
        except OSError:
            pass
        self._end_of_input(connection)

    @staticmethod
    def _drain(port: Port, fd: int) -> None:
        try:
            connection = port.connection()
            while data := connection.recv(65536):
                view = memoryview(data)
                while view:
                    view = view[os.write(fd, view):]
        except BrokenPipeError:
            # As for any program whose output nobody wants; the main thread ends it all.
            _signal_main(signal.SIGPIPE)
        except OSError:
            pass

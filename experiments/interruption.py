"""Ctrl-C and SIGTERM end a command at once, with one line and the shell's status for a signal.

Python runs the handler of a signal when the main thread is back from compiled code, which can take minutes here. So
a thread of ours is told too, and ends the process. Nothing is lost: files are complete or absent
(`difsim.saving.atomic`), and finished parts are in the checkpoint.
"""

import os
import signal
import socket
import sys
import threading

ENDING = signal.SIGINT, signal.SIGTERM


def end_on_signals() -> None:
    """From now on, SIGINT and SIGTERM end the process. Call it once, in the main thread, before heavy imports."""
    ours, of_python = socket.socketpair()
    of_python.setblocking(False)  # as `set_wakeup_fd` wants
    signal.set_wakeup_fd(of_python.detach(), warn_on_full_buffer=False)
    for number in ENDING:
        signal.signal(number, lambda *_: None)  # only signals with a handler of Python are written to the socket

    def watch():
        number = 0
        while number not in ENDING:
            number = ours.recv(1)[0]
        print("\ndifsim: interrupted; the same command goes on from what is finished", file=sys.stderr, flush=True)
        os._exit(128 + number)  # not sys.exit: the interpreter would wait for threads that still compile

    threading.Thread(target=watch, daemon=True).start()
    signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDING)  # blocked by `experiments.__main__` until here


def end_in_peace() -> None:
    """From now on these signals do nothing. Call it when all is written: Python takes its handlers away as it ends."""
    for number in ENDING:
        signal.signal(number, signal.SIG_IGN)

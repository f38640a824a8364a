"""Executors compute independent runs: in threads, in processes of this machine, or on a cluster.

Any `concurrent.futures.Executor` serves. One that computes in other processes sends functions there by pickle.
"""

import logging
import os
import uuid
import warnings
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Executor, Future, as_completed
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any

from difsim.session import configure


class Sent:
    """A function whose copies in one process are one object, so that JAX compiles it once there.

    A cluster of Dask gets it once. Each task would hold all its arrays otherwise: a field and a shape are 40 MB.

    **Arguments:** `function`, which the executor can pickle.
    """

    def __init__(self, function: Callable, mark: str = ""):
        self.function, self.mark, self._copy = function, mark or uuid.uuid4().hex, None

    def __call__(self, *arguments: Any) -> Any:
        return self.function(*arguments)

    def __reduce__(self) -> tuple:
        return _receive, (self.function, self.mark)

    def copy_on(self, client: Any) -> Any:
        """The future of a client of Dask, as an argument of which its workers have the function."""
        if self._copy is None or self._copy.client is not client:
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", "Sending large graph")  # once is what it advises
                self._copy = client.submit(_same, self, pure=False)
        return self._copy


def _same(sent: Sent) -> Sent:
    return sent


def _call(function: Callable, *arguments: Any) -> Any:
    return function(*arguments)


MOST = 8  # functions that a process remembers
_RECEIVED: dict[str, Sent] = {}


def _receive(function: Callable, mark: str) -> Sent:
    while len(_RECEIVED) >= MOST and mark not in _RECEIVED:
        _RECEIVED.pop(next(iter(_RECEIVED)))
    return _RECEIVED.setdefault(mark, Sent(function, mark))


def results_as_completed(
    executor: Executor | None, tasks: Mapping[Any, Callable[[], Any]]
) -> Iterator[tuple[Any, Any]]:
    """Yield the name and the result of each task as it is completed.

    **Arguments:** `executor`; None: this thread, one task after the other; `tasks`: functions without arguments, by
    name.
    **Raises:** what a task raises; the tasks that have not begun are cancelled then.
    """
    if executor is None:
        yield from ((name, task()) for name, task in tasks.items())
        return
    futures = {_submit(executor, task): name for name, task in tasks.items()}
    try:
        for future in as_completed(futures):
            yield futures[future], future.result()
    finally:
        for future in futures:
            future.cancel()


def _submit(executor: Executor, task: Callable[[], Any]) -> Future:
    client = getattr(executor, "_client", None)  # of Dask's executors
    if client is not None and isinstance(task, partial) and isinstance(task.func, Sent):
        return executor.submit(_call, task.func.copy_on(client), *task.args)
    return executor.submit(task)


@contextmanager
def open_executor(cluster: str | None) -> Iterator[Executor | None]:
    """Open an executor of Dask, and close it at the end.

    Its workers are configured by `difsim.configure`, each for one run at a time.

    **Arguments:** `cluster`: "local:4" starts four processes on this machine; another text is the address of a running
    scheduler, such as "tcp://host:8786"; None gives None, by which this process computes alone.
    **Raises:** ValueError without Dask, and for a number of processes that is none; OSError where no scheduler answers.
    """
    if cluster is None:
        yield None
        return
    try:
        from distributed import Client, LocalCluster
    except ImportError as error:
        raise ValueError(f'cluster {cluster!r} needs Dask: pip install "difsim[cluster]"') from error
    with ExitStack() as stack:
        address = stack.enter_context(_start(LocalCluster, cluster)) if cluster.startswith("local:") else cluster
        # Not the default of Dask, which xarray would ask for a lock to write a file.
        client = stack.enter_context(Client(address, set_as_default=False))
        client.register_worker_callbacks(configure_worker)
        yield client.get_executor()


def _start(kind: Callable, cluster: str) -> Any:
    count = cluster.removeprefix("local:")
    if not (count.isascii() and count.isdigit() and int(count)):
        raise ValueError(f"cluster {cluster!r}: give local:N with a number N of processes, such as local:4")
    # Without a limit of memory: a worker would be paused while XLA compiles a large program.
    return kind(
        n_workers=int(count),
        threads_per_worker=1,
        memory_limit=None,
        dashboard_address=":0",  # any free port: those of two commands must not meet
        silence_logs=logging.ERROR,  # that a worker was replaced, or did not end by itself, is no news
    )


def configure_worker() -> None:
    """Configure a process of an executor: one core, and no bars of several processes on one terminal."""
    configure(cores=1)
    for stream in filter(os.isatty, (1, 2)):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream)

"""A real Dask cluster on this machine: a scheduler and workers, each a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

TESTS = Path(__file__).resolve().parent


@contextmanager
def dask_cluster(folder, count=2):
    """Start a scheduler and workers of one thread each; yields a client and the processes of the workers."""
    from distributed import Client

    program, file = Path(sys.executable).parent / "dask", folder / "scheduler.json"
    found = [str(TESTS), str(TESTS.parent / "examples"), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(found)}
    quiet = {"env": environment, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": folder}
    local = ["--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file", file]
    processes = [subprocess.Popen([program, "scheduler", *local], **quiet)]
    try:
        while not file.exists():
            time.sleep(0.1)
        single = ["--scheduler-file", file, "--nthreads", "1", "--no-dashboard", "--no-nanny"]
        workers = [subprocess.Popen([program, "worker", *single], **quiet) for _ in range(count)]
        processes = [*workers, *processes]
        with Client(scheduler_file=str(file)) as client:
            client.wait_for_workers(count, timeout=60)
            yield client, workers
    finally:
        for process in processes:
            process.terminate()
            process.wait()

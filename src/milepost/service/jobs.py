"""Jobs, which create releases and sessions in the background, one after another."""

import secrets
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext, suppress
from dataclasses import replace
from threading import Lock
from typing import Any

from rich.progress import Progress

from milepost.errors import MilepostError, collected_warnings
from milepost.ingest.progress import bars, current_pass, listening
from milepost.service.database import JobRecord, ServiceDatabase, now
from milepost.service.errors import CODES, RefusedError, http_text
from milepost.service.schemas.requests import CreateRequest

QUEUED, RUNNING, DONE, FAILED, INTERRUPTED = ("queued", "running", "done", "failed", "interrupted")
MAX_LISTED = 100  # jobs in a list, the newest ones


class Jobs:
    """The jobs of curators. A job is on the disk before it starts; after a crash, its state is interrupted."""

    def __init__(self, database: ServiceDatabase, max_waiting: int) -> None:
        self._database, self._max_waiting, self._lock = database, max_waiting, Lock()
        self._jobs = {job.id: job for job in database.all(JobRecord)}
        self._displays: dict[str, Progress] = {}
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="milepost-job")
        unfinished = [job for job in self._jobs.values() if job.state in (QUEUED, RUNNING)]
        self.interrupted_runs = [job for job in unfinished if job.state == RUNNING]  # these may have written a release
        for job in unfinished:
            self._set_state(
                job, INTERRUPTED, "The service stopped before the job was done. What was charged for it stays spent."
            )

    @property
    def waiting(self) -> int:
        """Return the number of jobs that wait or run."""
        return sum(job.state in (QUEUED, RUNNING) for job in list(self._jobs.values()))

    def in_progress(self, kind: str, name: str) -> bool:
        """Return whether a job that creates something of this kind and name waits or runs."""
        active = [job for job in list(self._jobs.values()) if job.state in (QUEUED, RUNNING)]
        return any((job.kind, job.of) == (kind, name) for job in active)

    def begin(self, kind: str, request: CreateRequest, author: str, work: Callable[[], None]) -> dict[str, Any]:
        """Queue a job and return its status; it runs when the jobs before it are done."""
        name = request.id
        with self._lock:
            if self.in_progress(kind, name):
                raise RefusedError("exists")
            if self.waiting >= self._max_waiting:
                raise RefusedError("busy")
            job = JobRecord(secrets.token_hex(8), kind, name, author, request.model_dump_json(), now(), QUEUED, "")
            self._database.add(job)
            self._jobs[job.id] = job
        self._pool.submit(self._run, job, work)
        return self.status(job.id)

    def all(self) -> list[dict[str, Any]]:
        """Return the status of the latest jobs, the newest first."""
        return [self.status(name) for name in [*self._jobs][: -MAX_LISTED - 1 : -1]]

    def status(self, name: str) -> dict[str, Any]:
        """Return the status of a job, and its progress."""
        job = self._jobs.get(name)
        if job is None:
            raise RefusedError("not_found")
        activity, rows, share = current_pass(self._displays.get(name))
        return {
            "id": job.id,
            "kind": job.kind,
            "subject": job.of,
            "state": job.state,
            "activity": activity,
            "rows": rows,
            "share": share,
            "detail": job.detail or None,
            "created": job.created,
        }

    def close(self) -> None:
        """Wait for the running job, and leave the waiting ones interrupted."""
        self._pool.shutdown(cancel_futures=True)

    def _run(self, job: JobRecord, work: Callable[[], None]) -> None:
        display = self._displays[job.id] = bars()
        try:
            self._set_state(job, RUNNING, "")
            with listening(display), collected_warnings() as notes:
                work()
        except MilepostError as error:
            self._set_state(job, FAILED, http_text(str(error)))
        except RefusedError as error:
            self._set_state(job, FAILED, CODES[error.code].message)
        except Exception as error:  # noqa: BLE001
            self._set_state(job, FAILED, f"The job failed ({type(error).__name__}). What was charged stays spent.")
        else:
            self._set_state(job, DONE, http_text("; ".join(notes)))
        finally:
            self._displays.pop(job.id, None)

    def _set_state(self, job: JobRecord, state: str, detail: str) -> None:
        record = self._jobs[job.id] = replace(job, state=state, detail=detail)
        with suppress(MilepostError) if state == FAILED else nullcontext():  # the first error is the reason
            self._database.change(record)

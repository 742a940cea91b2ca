"""Jobs: releases and sessions that are being made, one after another, while other requests go on."""

import secrets
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext, suppress
from dataclasses import replace
from threading import Lock
from typing import Any

from milepost.errors import MilepostError, collected_warnings
from milepost.ingest.progress import Display, listening
from milepost.service.database import JobRecord, ServiceDatabase, now
from milepost.service.errors import CODES, RefusedError
from milepost.service.schemas.requests import CreateRequest

QUEUED, RUNNING, DONE, FAILED, INTERRUPTED = ("queued", "running", "done", "failed", "interrupted")
SHOWN = 100  # of those that are over


class Jobs:
    """What curators have asked for. A job is on the disk before it begins; one that a crash ended is interrupted."""

    def __init__(self, register: ServiceDatabase, most: int) -> None:
        self._register, self._most, self._lock = register, most, Lock()
        self._jobs = {job.id: job for job in register.all(JobRecord)}
        self._displays: dict[str, Display] = {}
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="milepost-job")
        interrupted = [job for job in self._jobs.values() if job.state in (QUEUED, RUNNING)]
        self.begun = [job for job in interrupted if job.state == RUNNING]  # of which something may be there
        for job in interrupted:
            self._settle(
                job, INTERRUPTED, "the service ended before this was done; what was charged for it stays spent"
            )

    @property
    def waiting(self) -> int:
        """How many wait or run."""
        return sum(job.state in (QUEUED, RUNNING) for job in list(self._jobs.values()))

    def taken(self, kind: str, name: str) -> bool:
        """Whether something of this name is being made."""
        making = [job for job in list(self._jobs.values()) if job.state in (QUEUED, RUNNING)]
        return any((job.kind, job.of) == (kind, name) for job in making)

    def begin(self, kind: str, words: CreateRequest, author: str, work: Callable[[], None]) -> dict[str, Any]:
        """Make something as soon as those before it are made."""
        name = words.id
        with self._lock:
            if self.taken(kind, name):
                raise RefusedError("exists")
            if self.waiting >= self._most:
                raise RefusedError("busy")
            job = JobRecord(secrets.token_hex(8), kind, name, author, words.model_dump_json(), now(), QUEUED, "")
            self._register.add(job)
            self._jobs[job.id] = job
        self._pool.submit(self._run, job, work)
        return self.shown(job.id)

    def all(self) -> list[dict[str, Any]]:
        """The newest first."""
        return [self.shown(name) for name in [*self._jobs][: -SHOWN - 1 : -1]]

    def shown(self, name: str) -> dict[str, Any]:
        """One job, and how far it is."""
        job = self._jobs.get(name)
        if job is None:
            raise RefusedError("not_found")
        passes = list(getattr(self._displays.get(name), "passes", ()))[-1:]
        return {
            "id": job.id,
            "kind": job.kind,
            "of": job.of,
            "state": job.state,
            "doing": passes[0].what if passes else "",
            "rows": passes[0].rows if passes else 0,
            "share": passes[0].done if passes else None,
            "detail": job.detail or None,
            "created": job.created,
        }

    def close(self) -> None:
        """When the one that runs is done; those that wait are interrupted."""
        self._pool.shutdown(cancel_futures=True)

    def _run(self, job: JobRecord, work: Callable[[], None]) -> None:
        display = self._displays[job.id] = Display()
        try:
            self._settle(job, RUNNING, "")
            with listening(display), collected_warnings() as notes:
                work()
        except MilepostError as error:
            self._settle(job, FAILED, str(error))
        except RefusedError as error:
            self._settle(job, FAILED, CODES[error.code].message)
        except Exception as error:  # noqa: BLE001
            self._settle(job, FAILED, f"something went wrong ({type(error).__name__}); what was charged stays spent")
        else:
            self._settle(job, DONE, "; ".join(notes))
        finally:
            self._displays.pop(job.id, None)

    def _settle(self, job: JobRecord, state: str, detail: str) -> None:
        changed = self._jobs[job.id] = replace(job, state=state, detail=detail)
        with suppress(MilepostError) if state == FAILED else nullcontext():  # the first error is the reason
            self._register.change(changed)

"""A file of replicates: nothing that has been computed is lost, and the same call goes on where it stopped.

SQLite with a write-ahead log, so that others can read while a run goes on, and one transaction a batch, so that a
process that is killed leaves whole batches behind. One row a replicate. A second table says how the replicates are
made; a call that would make them differently is refused, with what differs. A third has the sums of functionals whose
values are not kept, written in one transaction with the rows of the replicates that are in them. Two more are used by
runs with a cap: the ordinary averages of every replicate, and the chains of the first pairs that did not meet. The last
has the partitions that are kept.

What is read is what was written: every row has a checksum (`copartition.results.rows`). A file that is damaged is
refused; the call that made it copies what is sound to another one.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import sqlite3
import struct
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from copartition.results.chains import MOST_KEPT, Course, Unmet, packed_arrays, unpacked_arrays
from copartition.results.kept import Packed, Partitions, Sums, chunks, kept_of, pack
from copartition.results.replicates import Outcomes
from copartition.results.rows import (
    RUN,
    TABLES,
    Damage,
    Put,
    Rest,
    Row,
    create_tables,
    one_moment,
    raise_damage,
    read_rows,
    rest_of,
    writing,
)

FORMAT = 4
APPLICATION_ID = 0x636F7061  # "copa"
IN_WORDS = {"assumptions", "hyperparameters", "names", "source"}  # what is there for people, and where data were read
# What Python and NumPy say of bytes that are not what they should be; with checksums, that is not reached.
UNREADABLE = (
    ArithmeticError,
    AttributeError,
    EOFError,
    LookupError,
    MemoryError,
    OSError,
    RuntimeError,
    TypeError,
    ValueError,
    struct.error,
    zipfile.BadZipFile,
    zlib.error,
)


class StoreError(ValueError):
    """A file that cannot serve as the store of a run.

    Examples
    --------
    >>> import copartition as cp
    >>> import pathlib, tempfile
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "notes.db"
    >>> _ = file.write_text("Not the store of a run.")
    >>> try:
    ...     cp.Estimate.load(file)
    ... except cp.errors.StoreError:
    ...     print("refused")
    refused
    """


class Store:
    """The replicates of a run in a file.

    Parameters
    ----------
    path : path
        The file; made if it does not exist.
    description : dict, optional
        How the replicates are made. Left out, the file must exist and its own description is taken.
    """

    def __init__(self, path: str | Path, description: dict[str, Any] | None = None) -> None:
        self.path = Path(path)
        is_new = not self.path.exists() or self.path.stat().st_size == 0
        if is_new and description is None:
            raise StoreError(f"There is no store at {str(path)!r}.")
        self._lock = None if description is None else _Lock(self.path)
        self._connection: sqlite3.Connection | None = None
        try:
            if is_new:
                _create(self.path, description or {})
            _check_header(self.path)
            self._wanted = description
            self._connection = _connect(self.path, read_only=True)
            with self._reading():
                self._run, self.description = self._read_description()
            if description is not None:
                _check_same(self.path, self.description, description)
                if not is_new:
                    self._check()
                self._connection.close()
                self._connection = _connect(self.path, read_only=False)
        except (sqlite3.Error, OSError) as error:
            self.close()
            raise StoreError(f"The store {str(path)!r} cannot be used: {error}.") from error
        except BaseException:
            self.close()
            raise

    @property
    def _open(self) -> sqlite3.Connection:
        if self._connection is None:
            raise StoreError(f"The store {str(self.path)!r} is closed.")
        return self._connection

    # --- reading -----------------------------------------------------------------------------------------------------

    @contextmanager
    def _reading(self) -> Iterator[None]:
        """Read what belongs together; whatever is wrong with it becomes a `StoreError`."""
        connection = self._open
        try:
            with one_moment(connection):
                yield
        except StoreError:
            raise
        except Damage as damage:
            raise StoreError(self._told(str(damage))) from damage
        except (sqlite3.Error, *UNREADABLE) as error:
            reason = str(error).rstrip(".") or type(error).__name__
            raise StoreError(f"The store {str(self.path)!r} cannot be read: {reason}.") from error

    def _rows(self, table: str) -> Iterator[Row]:
        """Yield the rows of a table in the order of their keys, where these are numbers."""
        yield from read_rows(self._open, table, self._run)

    def _read_description(self) -> tuple[str, dict[str, Any]]:
        """Return which run it is, and how its replicates are made."""
        self._run = ""  # which the rows of the description do not depend on
        texts: dict[str, str] = dict(self._rows("description"))
        if RUN not in texts:
            raise Damage("it does not say which run it belongs to")
        return texts.pop(RUN), {key: json.loads(value, object_hook=_decode) for key, value in texts.items()}

    def _check(self) -> None:
        """Refuse a file of which something is not as it was written."""
        with self._reading():
            for table in TABLES:
                for _ in self._rows(table):
                    pass
            try:
                found = self._open.execute("PRAGMA integrity_check(1)").fetchone()[0]
            except sqlite3.Error as error:
                raise_damage(error)
            if found != "ok":
                raise Damage(" ".join(found.split()))

    def _told(self, reason: str) -> str:
        """Return what to say of a damaged file; where it was to be gone on with, copy what is sound."""
        begin = f"The store {str(self.path)!r} is damaged ({reason})"
        rest = rest_of(self._open, None if self._wanted is None else _run_of(self._wanted), self._wanted or {})
        if self._wanted is not None:
            found = {key: json.loads(row[1], object_hook=_decode) for key, row in rest.rows["description"].items()}
            _check_same(self.path, self._wanted | found, self._wanted)
        begin, kept, other = f"{begin}: {rest.sentence()}", len(rest.rows["replicates"]), _other(self.path)
        if rest.is_torn:
            return (
                f"{begin}, and sums over replicates cannot be taken apart, so that none can be kept. Use another file."
            )
        if not kept and not (self._wanted is None and rest.rows["description"] and rest.run is None):
            return f"{begin}. Use another file."
        if self._wanted is None:
            what = "The rest" if kept else "What is sound"  # which only the run that it belongs to can tell
            return f"{begin}. {what} can be kept: the call that wrote it, made again, copies it to {str(other)!r}."
        if other.exists():
            return f"{begin}. The rest is kept in {str(other)!r}, which is there already: use that file."
        _create(other, self._wanted, rest)
        return (
            f"{begin}. The rest is kept: {kept:,} replicates were copied to {str(other)!r}. Use that file: what is "
            "missing there is made anew, with the same numbers."
        )

    def read_unmet(self, limit: int | None = None) -> tuple[Unmet, ...]:
        """Return the first pairs that did not meet, of those whose numbers are below `limit`."""
        with self._reading():
            rows = [row for row in self._rows("unmet") if limit is None or row[0] < limit]
            return tuple(
                Unmet(
                    number,
                    unpacked_arrays(labels)["labels"],
                    None if course is None else Course(**unpacked_arrays(course)),
                )
                for number, labels, course in rows[:MOST_KEPT]
            )

    def _read_ordinary(self, indices: np.ndarray, size: int) -> np.ndarray | None:
        """Return the ordinary averages of some replicates; None if they are not there of all."""
        wanted = set(indices.tolist())
        blobs = [blob for number, blob in self._rows("ordinary") if number in wanted]
        if not wanted or len(blobs) != len(indices):
            return None
        return np.frombuffer(b"".join(blobs)).reshape(len(indices), size)

    def read_sums(self) -> Sums | None:
        """Return the sums of functionals whose values are not kept; None if all are."""
        with self._reading():
            size = sum(about["size"] for about in self.description["functionals"] if about.get("streamed"))
            if not size:
                return None
            sums = Sums(size)
            packed = [row[1] for row in self._rows("sums")]
            if packed:
                sums.merge(Packed([], packed))
            return sums

    def read_partitions(self, limit: int | None = None) -> Partitions | None:
        """Return the partitions that are kept of replicates whose numbers are below `limit`; None if there are none."""
        per_replicate, s = self.description.get("per_replicate"), self.description["settings"]
        if not per_replicate:
            return None
        averaged, unit = kept_of(per_replicate, s["min_sweeps"] - s["burn_in"] + 1)
        with self._reading():
            rows = [row for row in self._rows("partitions") if limit is None or row[0] < limit]
            return Partitions.unpacked(rows, averaged, unit) if rows else None

    def read(self, limit: int | None = None) -> Outcomes:
        """Return the replicates whose numbers are below `limit`, in order."""
        with self._reading():
            size = sum(about["size"] for about in self.description["functionals"] if not about.get("streamed"))
            rows = (row for row in self._rows("replicates") if limit is None or row[0] < limit)
            pieces = [Outcomes.none(size)]
            while some := list(islice(rows, 20_000)):
                pieces.append(_results_of(some, size))
            outcomes = Outcomes.joined(pieces)
            return outcomes._replace(ordinary=self._read_ordinary(outcomes.indices, size))

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Let all that is read meanwhile be as it is at one moment, whatever a run writes."""
        with one_moment(self._open):
            yield

    # --- writing -----------------------------------------------------------------------------------------------------

    def append(self, results: Outcomes) -> None:
        """Add replicates, all of them or, if that fails, none."""
        values = np.ascontiguousarray(results.values)
        rows = zip(
            results.indices.tolist(),
            results.meeting_times.tolist(),
            results.met.tolist(),
            results.sweeps.tolist(),
            results.seconds.tolist(),
            [row.tobytes() for row in values],
            strict=True,
        )
        plain = [] if results.ordinary is None else zip(results.indices.tolist(), results.ordinary, strict=True)
        kept = [] if results.partitions is None else results.partitions.packed()
        self._write(rows, [], plain, results.apart, kept)

    def replace_sums(self, sums: Sums) -> None:
        """Write sums, and the replicates that have been added to them: all or, if that fails, nothing.

        The list of these is empty afterwards. The sums must not change meanwhile.
        """
        rows = [
            (int(r.number), int(r.meeting_time), int(r.met), int(r.sweeps), float(r.seconds), r.values.tobytes())
            for r in sums.rows
        ]
        pieces = ((k, pack(sums.totals[a:b], sums.squares[a:b])) for k, (a, b) in enumerate(chunks(len(sums.totals))))
        plain = [(int(r.number), r.ordinary) for r in sums.rows if r.ordinary is not None]
        kept = (row for r in sums.rows if r.partitions is not None for row in r.partitions.packed())
        self._write(rows, pieces, plain, [r.apart for r in sums.rows if r.apart is not None], kept)
        sums.rows.clear()

    def _write(
        self,
        rows: Iterable[tuple[Any, ...]],
        pieces: Iterable[tuple[int, bytes]],
        plain: Iterable[tuple[int, np.ndarray]],
        apart: Iterable[Unmet],
        kept: Iterable[tuple[int, bytes]],
    ) -> None:
        with self._writing() as put:
            # What is there already is the same to the bit: a replicate depends on its number alone.
            put("replicates", rows, False)
            for piece in pieces:
                put("sums", [piece], True)
            put("partitions", kept, False)
            put("ordinary", [(number, values.tobytes()) for number, values in plain], False)
            # The first ones by number, in whatever order they come: each is among the first when it comes.
            for one in apart:
                query = "SELECT count(*) FROM unmet WHERE number < ?"
                if self._open.execute(query, (one.number,)).fetchone()[0] < MOST_KEPT:
                    put("unmet", [(int(one.number), packed_arrays(labels=one.labels), None)], False)

    @contextmanager
    def _writing(self) -> Iterator[Put]:
        """Write all or, if that fails, nothing."""
        try:
            with writing(self._open, self._run) as put:
                yield put
        except sqlite3.Error as error:
            raise StoreError(
                f"The store {str(self.path)!r} cannot be written: {error}; what it holds is kept."
            ) from error

    def write_courses(self, unmet: Iterable[Unmet]) -> None:
        """Add what pairs that did not meet did when they were followed."""
        there = {number for (number,) in self._open.execute("SELECT number FROM unmet")}
        rows = [
            (int(one.number), packed_arrays(labels=one.labels), packed_arrays(**one.course._asdict()))
            for one in unmet
            if one.course is not None and one.number in there
        ]
        with self._writing() as put:
            put("unmet", rows, True)

    def note(self, more: dict[str, Any]) -> None:
        """Write down more of how the run went; no later call is refused because of it."""
        with self._writing() as put:
            put("description", [(key, _encoded(value)) for key, value in more.items()], True)

    def close(self) -> None:
        """Close the file, and let others write it."""
        if self._connection is not None:
            self._connection.close()
        if self._lock is not None:
            self._lock.release()
        self._connection = self._lock = None


class _Lock:
    """Keeps two processes from doing the same work: a file beside the store, held while it is written.

    It is a database with a transaction under way, which the operating system lets go of however a process ends.
    """

    def __init__(self, store: Path) -> None:
        self._file = store.with_name(f"{store.name}-lock")
        try:
            self._connection = sqlite3.connect(self._file, timeout=0.0, isolation_level=None, check_same_thread=False)
        except sqlite3.Error as error:
            raise StoreError(f"The store {str(store)!r} cannot be used: {error}.") from error
        try:
            self._connection.execute("BEGIN EXCLUSIVE")
        except sqlite3.Error as error:
            self._connection.close()
            if "locked" not in str(error):
                raise StoreError(f"The store {str(store)!r} cannot be used: {error}.") from error
            raise StoreError(
                f"The store {str(store)!r} is being written by another run; wait until that has ended, or use another "
                "file. Nothing is lost."
            ) from None

    def release(self) -> None:
        """Let go."""
        try:
            self._file.unlink(missing_ok=True)  # while it is held: nobody takes hold of a file that is about to go
        except PermissionError:
            # Windows does not remove what is open: here, and after that, where the next run has it already.
            self._connection.close()
            with suppress(PermissionError):
                self._file.unlink(missing_ok=True)
        self._connection.close()


def _results_of(rows: list[tuple[Any, ...]], size: int) -> Outcomes:
    indices, times, met, sweeps, seconds, blobs = zip(*rows, strict=True)
    return Outcomes(
        np.array(indices, dtype=np.int64),
        np.frombuffer(b"".join(blobs)).reshape(len(rows), size),
        np.array(times, dtype=np.int64),
        np.array(met, dtype=bool),
        np.array(sweeps, dtype=np.int64),
        np.array(seconds, dtype=np.float64),
    )


def _encoded(value: Any) -> str:
    """Return a value as text; arrays as few letters as they take."""
    return json.dumps(value, default=_encode)


def _encode(array: np.ndarray) -> dict[str, Any]:
    # Differences are small where numbers are in order, as those of points mostly are.
    steps = np.diff(array, axis=0, prepend=np.zeros_like(array[:1]))
    text = base64.b85encode(zlib.compress(steps.astype(np.int64).tobytes(), 9)).decode()
    return {"array": text, "shape": list(array.shape)}


def _decode(value: dict[str, Any]) -> Any:
    if value.keys() != {"array", "shape"}:
        return value
    steps = np.frombuffer(zlib.decompress(base64.b85decode(value["array"])), dtype=np.int64)
    return np.cumsum(steps.reshape(value["shape"]), axis=0)


def _run_of(description: dict[str, Any]) -> str:
    """Return a name for the run that is described, which all of its replicates are bound to."""
    about = {key: _encoded(value) for key, value in description.items() if key not in IN_WORDS}
    return hashlib.blake2b(json.dumps(about, sort_keys=True).encode(), digest_size=16).hexdigest()


def _other(path: Path) -> Path:
    """Return the file that the sound part of a damaged store is copied to."""
    return path.with_name(f"{path.stem}-rest{path.suffix}")


def _create(path: Path, description: dict[str, Any], rest: Rest | None = None) -> None:
    """Make the file under another name first: whatever happens, a store is either whole or not there."""
    draft = path.with_name(f"{path.name}.{os.getpid()}.new")
    run = (rest.run if rest is not None else None) or _run_of(description)
    texts = {} if rest is None else {key: row[1] for key, row in rest.rows["description"].items()}
    texts |= {RUN: run} | {key: _encoded(value) for key, value in description.items()}
    try:
        with closing(sqlite3.connect(draft)) as connection:
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version = {FORMAT}")
            create_tables(connection)
            with writing(connection, run) as put:
                put("description", texts.items(), False)
                for table, rows in ({} if rest is None else rest.rows).items():
                    put(table, rows.values(), False)
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


def _check_header(path: Path) -> None:
    """Refuse a file that is not ours before SQLite touches it."""
    try:
        with path.open("rb") as file:
            header = file.read(100)
    except OSError as error:
        raise StoreError(f"The store {str(path)!r} cannot be read: {error.strerror}.") from error
    if len(header) < 100 or not header.startswith(b"SQLite format 3\x00"):
        raise StoreError(f"{str(path)!r} is not a store of copartition; it was left as it is.")
    if int.from_bytes(header[68:72], "big") != APPLICATION_ID:
        raise StoreError(f"{str(path)!r} is a database of another program; it was left as it is.")
    version = int.from_bytes(header[60:64], "big")
    if version != FORMAT:
        raise StoreError(
            f"{str(path)!r} has format {version}, and this version of copartition reads format {FORMAT}: use the "
            "version that wrote it, or another file."
        )


def _connect(path: Path, read_only: bool) -> sqlite3.Connection:
    address = f"{path.resolve().as_uri()}?mode={'ro' if read_only else 'rwc'}"
    connection = sqlite3.connect(address, uri=True, timeout=30.0, check_same_thread=False)
    connection.text_factory = lambda text: text.decode(errors="surrogateescape")  # which no checksum agrees with
    try:
        if not read_only:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = NORMAL")
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def _check_same(path: Path, found: dict[str, Any], wanted: dict[str, Any]) -> None:
    differing = [key for key in wanted if key not in IN_WORDS and _encoded(found.get(key)) != _encoded(wanted[key])]
    # What follows from the rest is not worth a word of its own.
    implied = {"histogram", "functionals"}
    implied |= {"fingerprint"} if "target" in differing else set()
    implied |= {"functional_fingerprint"} if "functional" in differing else set()
    differing = [key for key in differing if key not in implied] or differing
    if differing:
        details = "; ".join(
            f"{key} is {there} there and {here} here"
            for key in differing
            for there, here in [_parting(found.get(key), wanted[key])]
        )
        raise StoreError(f"The store {str(path)!r} belongs to another run: {details}. Use another file.")


def _parting(there: Any, here: Any) -> tuple[str, str]:
    """Return both values, long ones from a little before the place where they part."""
    texts = [" ".join(repr(value).split()) for value in (there, here)]
    if max(len(text) for text in texts) <= 60:
        return texts[0], texts[1]
    same = next((i for i, (a, b) in enumerate(zip(*texts, strict=False)) if a != b), 0)
    begin = max(0, same - 20)
    first, second = (("..." if begin else "") + text[begin : begin + 80] for text in texts)
    return first, second

"""Parquet files through `pyarrow.dataset`: a piece is a row group."""

from __future__ import annotations

import glob
import hashlib
import os
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from ..errors import SourceError
from ..tables.libraries import is_text
from .pieces import InPieces, Reading, survey

_WHOLE = 1 << 21  # rows of a row group that are read at once,
_PART = 1 << 20  # and of a part of a larger one
_BYTES_OF_A_CODE = 2.0  # of a row at most, where a column of text is read as codes


class CodedFile:
    """A file of which columns of text are read in codes; its footer is read once for all of its row groups."""

    def __init__(self, whole: Any):
        self.whole, self._known = whole, dict[tuple[str, ...], Any]()

    def __reduce__(self) -> Any:
        return CodedFile, (self.whole,)

    def row_group(self, group: int, text: Sequence[str]) -> Any:
        """A row group; these columns of text are dictionaries."""
        found, of = self._known.get(tuple(text)), self.whole
        if found is None:
            import pyarrow.dataset as ds

            form = parquet_format(ds, dictionary_columns=list(text))
            found = form.make_fragment(of.path, of.filesystem, of.partition_expression)
            self._known[tuple(text)] = found
        return found.subset(row_group_ids=[group])


class ParquetPiece(NamedTuple):
    """A row group of a file, as it was when the file was opened."""

    fragment: Any
    schema: Any
    path: str
    group: int
    size: int
    modified: int
    n_rows: int
    file: CodedFile

    @property
    def place(self) -> str:
        return f"row group {self.group} of {self.path}"

    def tables(self, columns: Sequence[str] | None) -> Iterator[Any]:
        yield from self._tables(self.fragment, self.schema, columns)

    def text_in_codes(self, columns: Sequence[str]) -> list[str]:
        """The columns of text that the file has as numbers of few texts, so that reading these numbers is cheaper."""
        known, few = self.fragment.physical_schema, []
        group = self.fragment.metadata.row_group(self.group)
        size = {one.path_in_schema: one for one in (group.column(j) for j in range(group.num_columns))}
        for name in columns:
            if name in size and known.get_all_field_indices(name) and is_text(known.field(name).type):
                if size[name].total_uncompressed_size <= _BYTES_OF_A_CODE * max(size[name].num_values, 1):
                    few.append(name)
        return few

    def coded_tables(self, columns: Sequence[str], text: list[str]) -> Iterator[Any]:
        """`tables`, in which these columns of text are dictionaries of pyarrow: levels, and a code in every row."""
        import pyarrow as pa

        schema = self.schema
        for name in text:
            coded = pa.field(name, pa.dictionary(pa.int32(), pa.string()))
            schema = schema.set(schema.get_field_index(name), coded)
        yield from self._tables(self.file.row_group(self.group, text), schema, columns)

    def _tables(self, fragment: Any, schema: Any, columns: Sequence[str] | None) -> Iterator[Any]:
        self._refuse_changes()
        wanted: Any = {"schema": schema, "columns": None if columns is None else list(columns)}
        wanted |= {"use_threads": False}
        try:
            for table in self._read(fragment, wanted):
                self._refuse_changes()  # while it was read
                yield table
        except OSError as error:
            self._refuse_changes()
            raise SourceError(
                f"{self.place} cannot be read ({error}): the file is damaged. Write it again, then open the rows again."
            ) from error

    def _read(self, fragment: Any, wanted: dict[str, Any]) -> Iterator[Any]:
        if self.n_rows <= _WHOLE:
            yield fragment.to_table(batch_size=max(1, self.n_rows), **wanted)  # each column in one piece
        else:
            yield from _of_same_size(fragment.to_batches(batch_size=_PART, **wanted))

    def _refuse_changes(self) -> None:
        size, modified = stamp(self.fragment.filesystem, self.fragment.path)
        if size is None:
            raise SourceError(
                f"{self.path} does not exist any more, so its row group {self.group} cannot be read. Restore the "
                f"file; then tunamh.resume continues a stored run. Or open the rows again and make a new target."
            )
        if (size, modified) != (self.size, self.modified):
            raise SourceError(
                f"{self.path} was changed since the rows were opened (its size was {self.size}, it is {size}); row "
                f"group {self.group} was to be read. Open the rows again and make a new target."
            )


def parquet_format(ds: Any, **reading: Any) -> Any:
    """How files are read: checksums of pages are compared, where the writer made them."""
    checked = ds.ParquetFragmentScanOptions(page_checksum_verification=True)
    return ds.ParquetFileFormat(
        read_options=ds.ParquetReadOptions(**reading) if reading else None, default_fragment_scan_options=checked
    )


def stamp(filesystem: Any, path: str) -> tuple[int | None, int]:
    """Return the size of a file and the time of its last change. The size is None if there is no file."""
    info = filesystem.get_file_info([path])[0]
    return (int(info.size), int(info.mtime_ns or 0)) if info.is_file else (None, 0)


def parquet_tables(rows: Any, reading: Reading, *, executor: Any, memory: int | None) -> InPieces:
    """Return a source whose pieces are the row groups of files, a folder or a pattern."""
    try:
        import pyarrow.dataset as ds
    except ImportError:
        raise ImportError("Parquet files need pyarrow: pip install 'tunamh[parquet]'.") from None
    form = parquet_format(ds)
    found = _found(rows)
    try:
        opened: Any = ds.dataset(found, format=form, partitioning="hive")
    except (OSError, ValueError) as error:
        if str(rows).endswith((".csv", ".csv.gz", ".tsv")):
            raise SourceError(
                f"{rows} is not a Parquet file: read it with pandas.read_csv, or write it as Parquet."
            ) from error
        raise SourceError(f"{rows} cannot be opened as Parquet: {error}") from error
    pieces: list[ParquetPiece] = []
    digest = hashlib.blake2b(digest_size=8)
    for fragment in sorted(opened.get_fragments(), key=lambda fragment: _place_in(rows, fragment.path)):
        size, modified = stamp(fragment.filesystem, fragment.path)
        known = set(fragment.physical_schema.names) | set(_partition_names(ds, fragment))
        lacking = [name for name in opened.schema.names if name not in known]
        if lacking:
            raise SourceError(f"{fragment.path} has no column {lacking[0]!r}, which other files have: leave it out.")
        digest.update(f"{os.path.basename(fragment.path)} {size} {_summary(fragment.metadata)}".encode())
        shown = os.path.relpath(fragment.path) if os.path.exists(fragment.path) else fragment.path
        shown = fragment.path if shown.startswith("..") else shown
        file = CodedFile(fragment)
        for part in fragment.split_by_row_group():
            group = part.row_groups[0]
            about = size or 0, modified, int(group.num_rows)
            pieces.append(ParquetPiece(part, opened.schema, shown, group.id, *about, file))
    names = list(opened.schema.names)
    unknown = [name for name in reading.columns or () if name not in names]
    if unknown:
        raise KeyError(f"no column {unknown[0]!r} in these files, whose columns are {', '.join(names)}")
    lengths, fingerprint = [piece.n_rows for piece in pieces], digest.hexdigest()
    settings: dict[str, Any] = {"reading": reading, "executor": executor, "memory": memory}
    if reading.change is None:
        return InPieces(pieces, lengths, reading.columns or names, fingerprint, **settings)
    found = survey(pieces, reading, executor)
    changed = hashlib.blake2b(repr((fingerprint, found.digests)).encode(), digest_size=8).hexdigest()
    return InPieces(pieces, found.lengths, None, changed, **settings)


def _found(rows: Any) -> Any:
    """What pyarrow is asked to open: a pattern becomes the files that it means, in their order."""
    if not isinstance(rows, str | os.PathLike):
        return [os.fspath(row) for row in rows]
    path = os.fspath(rows)
    if "://" in path:
        return path
    if any(sign in path for sign in "*?["):
        found = sorted(glob.glob(path, recursive=True))
        if not found:
            raise FileNotFoundError(f"no file matches {path!r}.")
        return found
    if not os.path.exists(path):
        raise FileNotFoundError(f"there is no file or folder {path!r}.")
    return path


def _place_in(rows: Any, path: str) -> Any:
    """Files of a list stay in its order, others go by name."""
    if isinstance(rows, str | os.PathLike):
        return path
    ends = [os.path.abspath(os.fspath(row)) for row in rows]
    return ends.index(os.path.abspath(path)) if os.path.abspath(path) in ends else len(ends)


def _partition_names(ds: Any, fragment: Any) -> list[str]:
    return list(ds.get_partition_keys(fragment.partition_expression))


def _summary(metadata: Any) -> str:
    """Rows, sizes and the least and largest values of all columns of all row groups: what the file's footer knows."""
    found = []
    for k in range(metadata.num_row_groups):
        group = metadata.row_group(k)
        for j in range(group.num_columns):
            column = group.column(j)
            known = column.statistics
            ends = (known.min, known.max, known.null_count) if known is not None and known.has_min_max else None
            found.append((group.num_rows, column.path_in_schema, column.total_compressed_size, ends))
    return repr(found)


def _of_same_size(batches: Any) -> Iterator[Any]:
    """Tables of ``_PART`` rows each, however the batches are cut."""
    import pyarrow as pa

    held: list[Any] = []
    for batch in batches:
        held.append(batch)
        while sum(one.num_rows for one in held) >= _PART:
            table = pa.Table.from_batches(held)
            yield table.slice(0, _PART)
            held = table.slice(_PART).to_batches()
    if held and sum(one.num_rows for one in held):
        yield pa.Table.from_batches(held)

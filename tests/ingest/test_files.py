"""Files: how their streams are opened and closed; `test_stream.py` has what is read from them."""

from pathlib import Path

import pyarrow as pa
import pyarrow.csv

from milepost.ingest import files


def test_the_stream_of_the_first_row_stays_open(tmp_path: Path) -> None:
    """Arrow's thread may still read from it: the number of a closed file would belong to the stream of the rows."""
    path = tmp_path / "people.csv"
    path.write_text("a,b\n1,2\n3,4\n")
    streams: list[pa.NativeFile] = []

    class File:
        path = str(tmp_path / "people.csv")

        @staticmethod
        def open() -> pa.NativeFile:
            streams.append(pa.OSFile(str(path)))
            return streams[-1]

    def convert(names: list[str]) -> pa.csv.ConvertOptions:
        assert names == ["a", "b"]
        return pa.csv.ConvertOptions(column_types=dict.fromkeys(names, pa.float64()))

    closed = []
    for batch in files._csv_batches("people.csv", File, convert, lambda _: None):
        closed += [stream.closed for stream in streams]
        assert batch.num_rows == 2
    assert closed == [False, False]
    assert all(stream.closed for stream in streams)

"""Clustering: the rows of many small commits are put together, sorted by site, so that a site lies in few files.

Every commit is a file that may hold any site. Once there are MOST of them, they are written anew as files of
neighbouring sites, and once as many of those lie over one another, all are. A row is thus rewritten about once per MOST
commits and again once per MOST squared, and a site is in at most 2 MOST files. The rows stay the same.
"""

from __future__ import annotations

from deltalake import DeltaTable

from ecmsketch.store.file_writer import FileWriter
from ecmsketch.store.row_reader import RowReader, by_site, pieces
from ecmsketch.store.table_files import TableFile, TableFiles

MOST = 16
"""Files that may hold one site: of single commits, and likewise of commits that were put together."""


def cluster(table: DeltaTable) -> bool:
    """Put the rows of small commits together, if there are many; returns whether it did."""
    chosen = _chosen(TableFiles(table).all)
    if not chosen:
        return False
    rows = RowReader(table, only=chosen)
    writer = FileWriter(table)
    facts = by_site(rows.facts)
    for begin, end in pieces(facts):
        writer.write(rows.whole(facts.slice(begin, end - begin)))
    writer.commit(chosen, changed=False)
    return True


def _chosen(files: list[TableFile]) -> list[TableFile]:
    single = [file for file in files if file.is_one_commit]
    if len(single) < MOST:
        return []
    others = [file for file in files if not file.is_one_commit]
    return files if depth(others) >= MOST else single


def depth(files: list[TableFile]) -> int:
    """How many of some files may hold one site, at most."""
    begins = sorted(file.first_site or "" for file in files)
    ends = sorted(file.last_site for file in files if file.last_site is not None)
    deepest = open_ = passed = 0
    for begin in begins:
        open_ += 1
        while passed < len(ends) and ends[passed] < begin:
            passed, open_ = passed + 1, open_ - 1
        deepest = max(deepest, open_)
    return deepest

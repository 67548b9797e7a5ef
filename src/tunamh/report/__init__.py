"""One page that tells what came out of a run, whether to trust it and what it cost (docs/report.md).

opened      a DataTree, a netCDF file or a stored run
contents    what the page says, as plain values: from `numbers` (per parameter), `checks`, `costs`
pictures    intervals, chains, distances, as inline SVG
page        the template; everything is escaped, and the page's own policy lets no other script run
"""

from .write import report

__all__ = ["report"]

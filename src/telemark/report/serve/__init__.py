"""`telemark serve`: a local page that lists campaigns, shows a running one live, and opens reports and comparisons.

It only reads and starts nothing. It listens on this host alone and answers only to its own name, so that no page of
the web can reach it through the browser.
"""

from __future__ import annotations

from telemark.report.serve.app import App
from telemark.report.serve.web import ReportServer, make_server

__all__ = ["App", "ReportServer", "make_server"]

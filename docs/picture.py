"""Makes the picture of the README from a real campaign: `python docs/picture.py runs/CAMPAIGN docs/images/report.png`.

The campaign must be one that was measured; run it on a quiet host, or the report will rightly show no verdicts.
Needs the dev dependencies and a Chromium.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

from telemark.report import html
from telemark.report.build import build_report

WIDTH, HEIGHT = 1320, 1250
# Score card, warnings, then the first figures: of the scenario if it has any, else of the first run.
# Only what does not bear on trust is left out: notes on sizes, long texts and further tables.
ARRANGE = """() => {
  const all = (what) => [...document.querySelectorAll(what)];
  all('.notices li:not(.danger):not(.caution), section section > p, footer').forEach((item) => item.remove());
  all('.card:not(:has(.score-card)):not(:has(.notices))').forEach((card) => card.remove());
  all('.card:has(.notices)').filter((card) => !card.querySelector('.notices li')).forEach((card) => card.remove());
  const figures = document.querySelector('.charts');
  if (figures && figures.closest('details')) figures.closest('details').open = true;
  telemarkPage.drawAll();
}"""


def main(campaign: Path, picture: Path) -> None:
    """Render the report, arrange its top, take the picture."""
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        page_file = Path(folder) / "report.html"
        page_file.write_text(html.render(build_report([campaign])), encoding="utf-8")
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"]
        )
        page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT}, color_scheme="light")
        page.goto(page_file.as_uri())
        page.evaluate(ARRANGE)
        picture.parent.mkdir(parents=True, exist_ok=True)
        page.screenshot(path=picture)
        browser.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))

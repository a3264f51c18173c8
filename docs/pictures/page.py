"""Draws the pictures of the live page: run `make live`, wait for a flood, then run this in another terminal."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

PICTURES = Path(__file__).parent
SHOTS = {
    "page.png": (1440, 1120, "light"),
    "page-dark.png": (1440, 1120, "dark"),
    "page-phone.png": (390, 1180, "light"),
}


def main(address: str) -> None:
    """Photograph an open page in each size and colour."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for name, (width, height, colours) in SHOTS.items():
            context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=colours)
            page = context.new_page()
            page.goto(address)
            page.wait_for_selector(".ecm-chart canvas")
            page.wait_for_timeout(500)
            page.screenshot(path=PICTURES / name)
            context.close()
        browser.close()


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "http://127.0.0.1:8600/?last=3600&item=4242")

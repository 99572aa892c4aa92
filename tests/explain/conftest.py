"""What the tests of pages share: a browser, and reports that it opens with the network off."""

import os
import shutil

import pytest

from browsed import REPORTS
from locallinear.explain import write_report

CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@pytest.fixture(scope="module")
def browser():
    """Chromium, where it is installed."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if CHROMIUM is None:
        pytest.skip("there is no chromium on this machine")
    with playwright.sync_playwright() as play:
        browser = play.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def reports(tmp_path_factory):
    """Each report's file and data, written when a test first opens it."""
    folder, found = tmp_path_factory.mktemp("reports"), {}

    def report_of(name):
        if name not in found:
            found[name] = folder / f"{name}.html", REPORTS[name]()
            write_report(*found[name])
        return found[name]

    return report_of


@pytest.fixture(scope="module")
def pages(browser, reports):
    """Each report's page, opened once with the network off, and what it complained of."""
    context = browser.new_context(offline=True)
    found = {}

    def page_of(name):
        if name not in found:
            page, complaints = context.new_page(), []
            page.on("console", lambda message: complaints.append(message.text))
            page.on("pageerror", lambda error: complaints.append(str(error)))
            page.on("dialog", lambda dialog: (complaints.append(dialog.message), dialog.dismiss()))
            page.on("request", lambda request: _only_local(request.url, complaints))
            page.goto(reports(name)[0].as_uri())
            page.wait_for_selector("html[data-drawn=yes]", timeout=30_000)
            found[name] = page, complaints
        return found[name]

    yield page_of
    context.close()


@pytest.fixture
def opened(pages, reports):
    """A page as it was when opened; at the end there was no error, dialog or request elsewhere."""
    heard = []

    def open_report(name="units", width=1200, scheme="light"):
        page, complaints = pages(name)
        heard.append(complaints)
        page.bring_to_front()
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(color_scheme=scheme, media="screen")
        page.evaluate(
            "document.querySelectorAll('button[aria-expanded=true]').forEach((b) => b.click())"
        )
        page.fill("#search", "")
        if page.locator("#target").count():
            page.select_option("#target", "0")
        page.select_option("#row", "0")
        if page.locator("#reference").is_visible():
            page.select_option("#reference", "baseline")
        page.evaluate("document.activeElement.blur()")
        return page, reports(name)[1]

    yield open_report
    assert not any(heard)


def _only_local(url, complaints):
    if not url.startswith(("file:", "data:", "blob:")):
        complaints.append(url)

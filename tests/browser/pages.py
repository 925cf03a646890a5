"""The pages in Chromium, as someone uses them: what can be seen is clicked, or reached by the keyboard."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from rocelab.ui import bundle
from selenium import webdriver
from selenium.common.exceptions import StaleElementReferenceException, WebDriverException
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webelement import WebElement
from ui_server import Server

_PATIENCE = 30.0
_OPTIONS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--force-device-scale-factor=1",
)
# By text, aria-label, or the words of the label around a field.
_FIND = """
    const [name, css] = arguments;
    const names = (e) => [e.innerText?.trim(), e.getAttribute("aria-label"), e.closest("label")?.querySelector("span")?.innerText];
    return [...document.querySelectorAll(css)].find((e) => e.offsetParent !== null && names(e).includes(name)) ?? null;
"""
T = TypeVar("T")


class Pages:
    def __init__(self, server: Server, downloads: Path) -> None:
        options = webdriver.ChromeOptions()
        for word in _OPTIONS:
            options.add_argument(word)
        options.binary_location = "/usr/bin/chromium"
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        self.driver = webdriver.Chrome(service=Service("/usr/bin/chromedriver"), options=options)
        self.address = f"http://{server.host}/"
        self.downloads = downloads
        downloads.mkdir(exist_ok=True)
        behaviour = {"behavior": "allow", "downloadPath": str(downloads)}
        self.driver.execute_cdp_cmd("Browser.setDownloadBehavior", behaviour)
        self.driver.get(f"{self.address}?token={server.token}")
        self.axe = (bundle.MODULES / "axe-core/axe.min.js").read_text()

    def quit(self) -> None:
        self.driver.quit()

    def reset(self) -> None:
        self.scheme("light")
        self.size(1400, 1000)
        self.complaints()

    def scheme(self, name: str) -> None:
        features = [{"name": "prefers-color-scheme", "value": name}]
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})

    def size(self, width: int, height: int) -> None:
        """Of the page itself: windows have a smallest width."""
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)

    def complaints(self) -> list[str]:
        """What the browser said since the last call: errors, and what the policy refused."""
        return [
            entry["message"]
            for entry in self.driver.get_log("browser")
            if entry["level"] in ("SEVERE", "WARNING")
        ]

    def open(self, place: str) -> None:
        """A page by its address, once it is there."""
        self.driver.get("about:blank")
        self.driver.get(self.address + place)
        self.settled()

    def settled(self) -> None:
        """The page has come, and what it draws in."""
        self.until(lambda: "Loading" not in self.text("#page") and self.see("#page h1"))

    def until(self, found: Callable[[], T | None], patience: float = _PATIENCE) -> T:
        end = time.monotonic() + patience
        last: Exception | None = None
        while time.monotonic() < end:
            try:
                value = found()
                if value:
                    return value
            except (StaleElementReferenceException, WebDriverException) as e:
                last = e
            time.sleep(0.03)
        raise AssertionError(
            f"not seen within {patience} s; {last}; the page says: {self.text('body')[:1500]}"
        )

    def see(self, css: str) -> list[WebElement]:
        return [e for e in self.driver.find_elements(By.CSS_SELECTOR, css) if e.is_displayed()]

    def text(self, css: str) -> str:
        return "\n".join(e.text for e in self.driver.find_elements(By.CSS_SELECTOR, css))

    def said(self, words: str, css: str = "#page") -> str:
        """The text of what is there, once it has these words."""
        return self.until(lambda: (t := self.text(css)) and words in t and t)

    def named(self, name: str, css: str = "button, a, summary, input, select, label") -> WebElement:
        """What has this text or accessible name, and can be seen."""

        def find() -> WebElement | None:
            found: WebElement | None = self.driver.execute_script(_FIND, name, css)
            return found

        return self.until(find)

    def click(self, name: str, css: str = "button, a, summary, input, label") -> None:
        def press() -> bool:
            element = self.named(name, css)
            self.driver.execute_script("arguments[0].scrollIntoView({block: 'center'})", element)
            element.click()
            return True

        self.until(press)

    def choose(self, field: str, option: str) -> None:
        def choose() -> bool:
            select = self.named(field, "select")
            for each in select.find_elements(By.TAG_NAME, "option"):
                if option in each.text:
                    each.click()
                    return True
            return False

        self.until(choose)
        time.sleep(0.05)
        self.settled()

    def fill(self, field: str, text: str) -> None:
        element = self.named(field, "input, textarea")
        element.send_keys(Keys.CONTROL, "a")
        element.send_keys(text)

    def press(self, *keys: str) -> None:
        webdriver.ActionChains(self.driver).send_keys(*keys).perform()

    def chord(self, modifier: str, key: str) -> None:
        webdriver.ActionChains(self.driver).key_down(modifier).send_keys(key).key_up(modifier).perform()

    def focused(self) -> tuple[str, str]:
        """Text and accessible name of what has the focus."""
        at = self.driver.switch_to.active_element
        return at.text.strip(), at.accessible_name

    def tab_to(self, name: str, most: int = 120) -> None:
        """By the Tab key alone."""
        for _ in range(most):
            self.press(Keys.TAB)
            if name in self.until(self.focused):
                return
        raise AssertionError(f"{name} is not reached by Tab")

    def findings(self) -> list[str]:
        """What axe has against the page."""
        self.driver.execute_script(self.axe)
        found: dict[str, Any] = self.driver.execute_async_script(
            "const done = arguments[0]; axe.run(document, {resultTypes: ['violations']}).then(done, (e) => done({error: String(e)}));"
        )
        assert "error" not in found, found
        return [
            f"{v['id']}: {v['help']}: {json.dumps([n['target'] for n in v['nodes']][:3])}"
            for v in found["violations"]
        ]

    def rows(self, caption: str, part: str = "tBodies[0]") -> list[list[str]]:
        """Cells of the table with this caption; `part` tHead: of its head."""

        def find() -> list[list[str]] | None:
            script = (
                """
                const table = [...document.querySelectorAll("table")].find((t) => t.caption?.textContent.startsWith(arguments[0]));
                return table ? [...table.%s.rows].map((r) => [...r.cells].map((c) => c.innerText.trim())) : null;
            """
                % part
            )
            found: list[list[str]] | None = self.driver.execute_script(script, caption)
            return found

        return self.until(find)

    def downloaded(self, name: str) -> bytes:
        """A file that a click brings."""
        path = self.downloads / name

        def whole() -> bytes | None:
            return path.read_bytes() if path.exists() else None

        content = self.until(whole)
        path.unlink()
        return content

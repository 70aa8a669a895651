"""Chromium without a window, told what to do over a pipe: it needs neither a driver nor a library.

The protocol is Chrome DevTools': objects of JSON that end with a zero octet, on descriptors 3 and 4.
"""

import base64
import contextlib
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PROGRAM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
WAIT_S = 30.0
# Gives it the two ends that it has to have as 3 and 4.
START = """
import fcntl, os, sys
for wanted, end in enumerate([fcntl.fcntl(int(each), fcntl.F_DUPFD, 10) for each in sys.argv[1:3]], 3):
    os.dup2(end, wanted)
os.execv(sys.argv[3], sys.argv[3:])
"""
KEYS = {
    "Enter": (13, "\r"),
    "Escape": (27, ""),
    "ArrowLeft": (37, ""),
    "ArrowUp": (38, ""),
    "ArrowDown": (40, ""),
}


# Answers of Chromium to a question about a page that makes room for another one.
LEFT = {
    "Cannot find context with specified id",
    "Cannot find default execution context",
    "Execution context was destroyed.",
    "Inspected target navigated or closed",
}


class LeftError(AssertionError):
    """The page was left before it could answer."""


class Browser:
    """One process of Chromium; `page` opens pages in it, each without cookies of the others."""

    def __init__(self) -> None:
        assert PROGRAM is not None
        self._folder = tempfile.mkdtemp(prefix="chromium")
        from_us, self._out = os.pipe()
        self._in, to_us = os.pipe()
        words = [PROGRAM, "--headless=new", "--remote-debugging-pipe", "--no-sandbox", "--disable-gpu"]
        words += ["--disable-dev-shm-usage", "--disable-background-networking", "--disable-component-update"]
        words += [f"--user-data-dir={self._folder}", "--no-first-run", "--hide-scrollbars", "about:blank"]
        self._process = subprocess.Popen(
            [sys.executable, "-S", "-c", START, str(from_us), str(to_us), *words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=(from_us, to_us),
            start_new_session=True,
        )
        os.close(from_us)
        os.close(to_us)
        self._rest = b""
        self._last = 0
        self._answers: dict[int, dict] = {}
        self.pages: dict[str, Page] = {}

    def close(self) -> None:
        """End it and all its processes."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        os.close(self._out)
        os.close(self._in)
        shutil.rmtree(self._folder, ignore_errors=True)

    def page(self, *, width: int = 1280, height: int = 900, dark: bool = False) -> "Page":
        """Open an empty page."""
        context = self.call("Target.createBrowserContext")["browserContextId"]
        target = self.call("Target.createTarget", url="about:blank", browserContextId=context)["targetId"]
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        page = self.pages[session] = Page(self, session)
        for domain in ("Page", "Runtime", "Network", "Log", "Audits"):
            page.call(f"{domain}.enable")
        page.resize(width, height, dark=dark)
        return page

    def call(self, method: str, session: str | None = None, **params: object) -> dict:
        """Ask for something, and wait for the answer."""
        self._last += 1
        number = self._last
        request = {"id": number, "method": method, "params": params, **({"sessionId": session} if session else {})}
        octets = json.dumps(request).encode() + b"\0"
        while octets:
            octets = octets[os.write(self._out, octets) :]
        deadline = time.monotonic() + WAIT_S
        while number not in self._answers:
            assert self.read(deadline - time.monotonic()), f"Chromium does not answer {method}"
        answer = self._answers.pop(number)
        if answer.get("error", {}).get("message") in LEFT:
            raise LeftError(method)
        assert "error" not in answer, (method, answer["error"])
        return answer["result"]

    def read(self, seconds: float) -> bool:
        """Take in what comes within this time; return whether anything did."""
        if not select.select([self._in], [], [], max(0, seconds))[0]:
            return False
        octets = os.read(self._in, 1 << 20)
        assert octets, "Chromium ended"
        *messages, self._rest = (self._rest + octets).split(b"\0")
        for message in map(json.loads, messages):
            if "id" in message:
                self._answers[message["id"]] = message
            elif message.get("sessionId") in self.pages:
                self.pages[message["sessionId"]].note(message["method"], message["params"])
        return True


class Page:
    """A page: `requests` are the addresses it asked for, `complaints` what the browser found wrong with it."""

    def __init__(self, browser: Browser, session: str) -> None:
        self._browser = browser
        self._session = session
        self.requests: list[str] = []
        self.complaints: list[str] = []

    def call(self, method: str, **params: object) -> dict:
        return self._browser.call(method, self._session, **params)

    def note(self, method: str, params: dict) -> None:
        match method:
            case "Network.requestWillBeSent":
                self.requests.append(params["request"]["url"])
            case "Runtime.exceptionThrown":
                self.complaints.append(json.dumps(params["exceptionDetails"])[:2_000])
            case "Runtime.consoleAPICalled" if params["type"] in {"error", "warning", "assert"}:
                self.complaints.append(json.dumps(params["args"])[:2_000])
            case "Audits.issueAdded" if params["issue"]["code"] == "ContentSecurityPolicyIssue":
                self.complaints.append(json.dumps(params["issue"])[:2_000])
            case "Page.javascriptDialogOpening":
                self.complaints.append(f"dialog: {params['message']}")

    def resize(self, width: int, height: int, *, dark: bool = False) -> None:
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])

    def open(self, address: str) -> None:
        self.call("Page.navigate", url=address)

    def reload(self) -> None:
        """Load the page anew. The old one can still be looked at, and acted on, until the new one has come."""
        self.run("document.documentElement.dataset.old = true")
        self.call("Page.reload")
        self.wait("document.documentElement?.dataset.old === undefined")

    def run(self, script: str) -> object:
        """Return the value of an expression, awaited."""
        found = self.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in found, (script, found["exceptionDetails"])
        return found["result"].get("value")

    def wait(self, condition: str, seconds: float = WAIT_S) -> None:
        """Wait until an expression is true, of whichever page is shown."""
        deadline = time.monotonic() + seconds
        while not self._holds(condition):
            if time.monotonic() > deadline:
                raise AssertionError(f"{condition} never was true; the page says: {self.text()[:2_000]}")
            self._browser.read(0.05)

    def _holds(self, condition: str) -> bool:
        try:
            return bool(self.run(f"Boolean({condition})"))
        except LeftError:
            return False

    def wait_for_file(self, path: Path) -> None:
        """Wait until a download is there, and not its name alone."""
        deadline = time.monotonic() + WAIT_S
        while not (path.exists() and path.stat().st_size):
            assert time.monotonic() < deadline, f"{path} was not downloaded"
            self._browser.read(0.05)

    def wait_for_text(self, text: str) -> None:
        self.wait(f"document.body && document.body.innerText.includes({json.dumps(text)})")

    def text(self) -> str:
        return str(self.run("document.body ? document.body.innerText : ''"))

    def fill(self, selector: str, value: str) -> None:
        """Put a text into a field, as typing would."""
        self.run(f"document.querySelector({json.dumps(selector)}).focus()")
        self.run("document.activeElement.select?.()")
        self.call("Input.insertText", text=value)

    def attach(self, selector: str, path: Path) -> None:
        """Choose a file in a field."""
        field = self.call("Runtime.evaluate", expression=f"document.querySelector({json.dumps(selector)})")["result"]
        self.call("DOM.setFileInputFiles", files=[str(path)], objectId=field["objectId"])

    def click(self, selector: str) -> None:
        self.run(f"document.querySelector({json.dumps(selector)}).click()")

    def press(self, key: str) -> None:
        code, text = KEYS.get(key, (ord(key.upper()) if len(key) == 1 else 0, key))
        common = {"key": key, "windowsVirtualKeyCode": code}
        self.call("Input.dispatchKeyEvent", type="keyDown", **common, **({"text": text} if text else {}))
        self.call("Input.dispatchKeyEvent", type="keyUp", **common)

    def log_in(self, address: str, name: str = "guest", password: str = "guest") -> None:
        self.open(address)
        self.wait("document.querySelector('.login')")
        self.fill("input[name=name]", name)
        self.fill("input[name=password]", password)
        self.click(".login button")
        self.wait("document.querySelector('.page')")

    def screenshot(self, path: Path) -> None:
        path.write_bytes(base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"]))

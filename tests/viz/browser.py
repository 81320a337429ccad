"""A browser without a window for tests of pages, spoken to over a pipe in its own protocol."""

import base64
import itertools
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")


def program():
    """The browser's program, or None."""
    return os.environ.get("TERMGRAPH_BROWSER") or next((p for p in map(shutil.which, NAMES) if p), None)


class Browser:
    """`with Browser() as b: page = b.open(path)`."""

    def __init__(self):
        self.profile = tempfile.mkdtemp(prefix="browser")
        to_read, self.write_end = os.pipe()
        self.read_end, to_write = os.pipe()
        options = ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--mute-audio",
                   "--no-first-run", "--disable-extensions", "--disable-background-networking",
                   "--remote-debugging-pipe",
                   f"--user-data-dir={self.profile}")  # fmt: skip

        def give_pipes():  # the browser reads commands from 3 and writes answers to 4
            a, b = os.dup(to_read), os.dup(to_write)
            os.dup2(a, 3)
            os.dup2(b, 4)

        self.process = subprocess.Popen([program(), *options, "about:blank"], preexec_fn=give_pipes, close_fds=False,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # fmt: skip
        os.close(to_read)
        os.close(to_write)
        self.numbers, self.buffer, self.events = itertools.count(1), b"", []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            self.call("Browser.close", seconds=5)
        except (OSError, TimeoutError):
            pass
        os.close(self.write_end)
        os.close(self.read_end)
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        shutil.rmtree(self.profile, ignore_errors=True)

    def call(self, method, session=None, seconds=60, **params):
        """One command and its answer."""
        number = next(self.numbers)
        message = {"id": number, "method": method, "params": params} | ({"sessionId": session} if session else {})
        os.write(self.write_end, json.dumps(message).encode() + b"\0")
        end = time.monotonic() + seconds
        while True:
            answer = self._message(end)
            if answer.get("id") == number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return answer["result"]
            self.events.append(answer)

    def _message(self, end):
        while b"\0" not in self.buffer:
            if not select.select([self.read_end], [], [], max(0, end - time.monotonic()))[0]:
                raise TimeoutError("the browser does not answer")
            read = os.read(self.read_end, 1 << 16)
            if not read:
                raise OSError("the browser has ended")
            self.buffer += read
        text, _, self.buffer = self.buffer.partition(b"\0")
        return json.loads(text)

    def wait_for(self, method, session, seconds=60):
        """Wait until an event has come."""
        end = time.monotonic() + seconds
        while True:
            for e in self.events:
                if e.get("method") == method and e.get("sessionId") == session:
                    self.events.remove(e)
                    return e["params"]
            self.events.append(self._message(end))

    def open(self, path, width=1000, height=700, dark=False, scripts=True):
        """A page of its own for a file."""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        page = Page(self, session, target)
        for room in ("Page", "Runtime", "Network"):
            page.call(f"{room}.enable")
        page.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 500
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        page.call("Emulation.setEmulatedMedia", features=[scheme])
        page.call("Page.navigate", url=Path(path).resolve().as_uri())
        self.wait_for("Page.loadEventFired", session)
        return page


class Page:
    """An open page: what its scripts say, a mouse, a keyboard, a photograph."""

    def __init__(self, browser, session, target):
        self.browser, self.session, self.target = browser, session, target

    def call(self, method, **params):
        return self.browser.call(method, self.session, **params)

    def run(self, script):
        """The value of an expression in the page."""
        answer = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(answer["exceptionDetails"].get("exception", {}).get("description", str(answer)))
        return answer["result"].get("value")

    def frame(self):
        """Let the page draw."""
        self.run("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def mouse(self, what, x, y, **more):
        self.call("Input.dispatchMouseEvent", type=what, x=x, y=y, **more)

    def click(self, x, y, times=1):
        for n in range(1, times + 1):
            self.mouse("mousePressed", x, y, button="left", clickCount=n, buttons=1)
            self.mouse("mouseReleased", x, y, button="left", clickCount=n)
        self.frame()

    def drag(self, x, y, to_x, to_y):
        self.mouse("mousePressed", x, y, button="left", clickCount=1, buttons=1)
        for k in (1, 2, 3):
            self.mouse("mouseMoved", x + (to_x - x) * k / 3, y + (to_y - y) * k / 3, button="left", buttons=1)
        self.mouse("mouseReleased", to_x, to_y, button="left", clickCount=1)
        self.frame()

    def hover(self, x, y):
        self.mouse("mouseMoved", x, y)
        self.frame()

    def press(self, key):
        """A key by its name: "a", "Enter", "ArrowRight"."""
        text = {"text": key} if len(key) == 1 else {"text": "\r"} if key == "Enter" else {}
        self.call("Input.dispatchKeyEvent", type="keyDown", key=key, **text)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key)
        self.frame()

    def type(self, text):
        self.call("Input.insertText", text=text)
        self.frame()

    def asked_for(self):
        """The addresses that the page has asked for."""
        sent = [e for e in self.browser.events if e.get("method") == "Network.requestWillBeSent"]
        return [e["params"]["request"]["url"] for e in sent if e.get("sessionId") == self.session]

    def errors(self):
        """What went wrong in scripts."""
        self.run("0")
        wrong = ("Runtime.exceptionThrown",)
        return [
            e["params"] for e in self.browser.events if e.get("method") in wrong and e.get("sessionId") == self.session
        ]

    def photograph(self, path):
        """A PNG of what is seen."""
        data = self.call("Page.captureScreenshot", format="png")["data"]
        Path(path).write_bytes(base64.b64decode(data))

    def close(self):
        self.browser.call("Target.closeTarget", targetId=self.target)

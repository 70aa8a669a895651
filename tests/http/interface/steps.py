"""Steps at the interface: go to a page, press a button, answer a question."""

import json
from urllib.parse import quote


def go(page, address):
    """Show another page, and wait until it has its figures."""
    page.run(
        f"""new Promise((done) => {{
            const wanted = {json.dumps(address)};
            if (location.hash === wanted) return done();
            const drawn = () => requestAnimationFrame(() => requestAnimationFrame(done));
            addEventListener("hashchange", drawn, {{ once: true }});
            location.hash = wanted;
        }})"""
    )
    page.wait("document.querySelector('main:not([aria-busy])')")


def of(noun, *names):
    return f"#/{noun}/" + "/".join(quote(name, safe="") for name in names)


def press(page, label):
    """Press a button of the page, by its label."""
    page.wait("!document.querySelector('dialog')")
    button = f"[...document.querySelectorAll('main button')].find((one) => one.innerText === {json.dumps(label)})"
    page.wait(button)
    page.run(f"{button}.click()")


def answer(page, **values):
    """Fill in the dialog that is asked by, and confirm it."""
    page.wait("document.querySelector('dialog[open]')")
    for name, value in values.items():
        page.fill(f"dialog [name={json.dumps(name)}]", value)
    page.click("dialog footer button:last-child")
    page.wait("!document.querySelector('dialog')")


def choose(page, name, value):
    """Choose from a list of the dialog that is asked by, as a person would."""
    field = f"document.querySelector('dialog [name={json.dumps(name)}]')"
    page.wait(field)
    page.run(f"{field}.value = {json.dumps(value)}; {field}.dispatchEvent(new Event('change'))")


def submit(page, number=0):
    page.run(f"document.querySelectorAll('main .card form')[{number}].requestSubmit()")


def refresh(page):
    """Have the page ask at once, as when it comes to the front again."""
    page.run("document.dispatchEvent(new Event('visibilitychange'))")

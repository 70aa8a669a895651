"""The interface in Chromium, in front of a daemon: what it shows, and how it is used."""

import json
import shutil
import signal
import subprocess
import tarfile
import time

import pika
import pytest

from tests.http.interface.browser import WAIT_S
from tests.http.interface.conftest import Site
from tests.http.interface.sources import pages
from tests.http.interface.steps import go, of, refresh

HOSTILE = [
    "<img src=x onerror=alert(1)>",
    "\u202e\u05e7\u05e8\u05d5\u05d1",
    "q" * 255,
    "a/b%2Fc?d#e&f",
    "'\"</script><script>alert(1)</script>",
    "\U0001f469\u200d\U0001f467 \x01\x1b[31m",
]


@pytest.fixture(scope="module")
def channel(site):
    """A channel of a client, with a queue for each hostile name, and what hangs on these."""
    parameters = pika.ConnectionParameters(
        "127.0.0.1", site.daemon.port, heartbeat=0, client_properties={"connection_name": HOSTILE[0]}
    )
    connection = pika.BlockingConnection(parameters)
    channel = connection.channel()
    channel.exchange_declare(HOSTILE[0], "topic", durable=True)
    for name in HOSTILE:
        channel.queue_declare(name, durable=True)
        table = {name[:60]: name}
        channel.queue_bind(name, HOSTILE[0], name, table)
        channel.basic_publish("", name, name.encode(), pika.BasicProperties(headers=table, delivery_mode=2))
        channel.basic_consume(name, lambda *_: None, consumer_tag=name)
    yield channel
    connection.close()


def test_a_wrong_password_is_told(browser, site):
    page = browser.page()
    page.open(site.address)
    page.wait("document.querySelector('.login')")
    page.fill("input[name=name]", "guest")
    page.fill("input[name=password]", "wrong")
    page.click(".login button")
    page.wait_for_text("Login failed")
    assert page.run("document.querySelector('input[name=password]').value") == ""
    assert page.run("document.cookie + localStorage.length") == "0"


def test_a_login_outlives_the_page_and_ends_with_logout(browser, site):
    page = browser.page()
    page.log_in(site.address)
    page.open(site.address + "#/queues")
    page.wait("document.querySelector('h1')?.innerText === 'Queues'")
    page.run("[...document.querySelectorAll('button')].find((one) => one.innerText === 'Log out').click()")
    page.wait("document.querySelector('.login')")
    page.open(site.address)
    page.wait("document.querySelector('.login')")


@pytest.mark.parametrize("name", sorted(pages()))
def test_every_page_shows_itself(page, name):
    go(page, f"#/{'' if name == 'overview' else name}")
    page.wait("document.querySelector('main h1')")
    assert page.run("document.title").endswith("pybroker")
    assert page.run("document.querySelectorAll('main .banner').length") == 0


@pytest.mark.usefixtures("channel")
@pytest.mark.parametrize("name", HOSTILE, ids=["markup", "rtl", "long", "path", "script", "signs"])
def test_hostile_names_are_text(page, name):
    # RabbitMQ's advisories CVE-2026-66077, -57213, -67421: names became HTML.
    for address in (
        of("queues", "/", name),
        of("queues", "/", name) + "?tab=bindings",
        of("exchanges", "/", HOSTILE[0]),
    ):
        go(page, address)
        page.wait("document.querySelector('main h1')")
    go(page, of("queues", "/", name))
    page.wait(f"document.querySelector('main h1')?.textContent === {json.dumps(name)}")
    assert page.run("document.querySelectorAll('main img, main script').length") == 0
    assert page.run("document.querySelector('main').scrollWidth <= document.querySelector('main').clientWidth")


@pytest.mark.usefixtures("channel")
@pytest.mark.parametrize("noun", ["queues", "exchanges", "connections", "channels"])
def test_lists_link_to_every_row(page, noun):
    go(page, f"#/{noun}")
    page.wait("document.querySelector('tbody th a')")
    links = page.run("[...document.querySelectorAll('tbody th a')].map((one) => one.hash)")
    for link in links:
        go(page, link)
        page.wait("document.querySelector('main h1')")
        assert page.run("document.querySelectorAll('main .banner').length") == 0, link


@pytest.mark.usefixtures("channel")
def test_a_list_keeps_filter_and_order_in_its_address(page):
    go(page, "#/queues")
    page.wait("document.querySelectorAll('tbody tr').length > 3")
    page.press("/")
    assert page.run("document.activeElement.id") == "filter"
    page.fill("#filter", "<IMG")
    page.wait("document.querySelectorAll('tbody tr').length === 1")
    assert "name=%3CIMG" in page.run("location.hash")
    page.fill("#filter", "no such queue")
    page.wait_for_text("No queue matches")
    go(page, "#/queues?sort=name&desc=1")
    page.wait("document.querySelector('th[aria-sort=descending]')")
    names = page.run("[...document.querySelectorAll('tbody th')].map((one) => one.textContent)")
    assert names == sorted(names, reverse=True)


def test_presets_choose_and_order(page, channel):
    for name, messages in (("p.short", 1), ("p.served", 0), ("p.long", 3)):
        channel.queue_declare(name)
        for _ in range(messages):
            channel.basic_publish("", name, b"x")
    channel.basic_consume("p.served", lambda *_: None)

    def rows(preset, name, expected):
        go(page, f"#/queues?preset={preset}&name={name}")
        names = "[...document.querySelectorAll('tbody th')].map((one) => one.textContent).join()"
        page.wait(f"location.hash.endsWith({json.dumps(name)}) && {names} === {json.dumps(','.join(expected))}")

    rows("longest", "p.", ["p.long", "p.short", "p.served"])
    rows("old", "p.", ["p.short", "p.long"])
    rows("unserved", "p.", ["p.long", "p.short"])
    rows("dead", "p.", [])
    rows("growing", "p.", [])
    # A queue grows between two looks at it.
    deadline = time.monotonic() + WAIT_S
    while page.run("document.querySelector('tbody th')?.textContent") != "p.short":
        assert time.monotonic() < deadline
        channel.basic_publish("", "p.short", b"x")
        refresh(page)
        channel.connection.sleep(0.05)
    for name in ("p.short", "p.served", "p.long"):
        channel.queue_delete(name)


@pytest.mark.usefixtures("channel")
def test_the_keyboard_is_enough(page):
    go(page, "#/channels")
    page.run("document.activeElement.blur()")
    page.press("g")
    page.press("q")
    page.wait("document.querySelector('main h1')?.innerText === 'Queues' && document.querySelector('tbody th a')")
    page.press("ArrowDown")
    page.press("ArrowDown")
    assert page.run("document.activeElement === document.querySelectorAll('tbody th a')[1]")
    wanted = page.run("document.activeElement.hash")
    page.press("Enter")
    page.wait(f"location.hash === {json.dumps(wanted)}")
    # The page that is left takes its dialogs along, and it is left after the address has changed.
    page.wait("!['Queues', undefined].includes(document.querySelector('main h1')?.innerText)")
    page.run("document.activeElement.blur()")
    page.press("?")
    page.wait("document.querySelector('dialog[open]')")
    page.press("Escape")
    page.wait("!document.querySelector('dialog')")
    go(page, "#/queues")
    page.run("document.querySelector('.menu summary').focus()")
    page.press("Enter")
    page.wait("document.querySelector('.menu').open")
    page.press("Escape")
    page.wait("!document.querySelector('.menu').open")


@pytest.mark.usefixtures("channel")
def test_refreshing_leaves_alone_what_is_typed(page):
    go(page, "#/queues")
    page.wait("document.querySelector('tbody tr')")
    page.run("document.querySelector('#filter').focus()")
    page.run("window.seen = document.querySelector('tbody tr')")
    page.call("Input.insertText", text="q")
    before = page.run("document.querySelector('.fresh').innerText")
    page.wait(f"document.querySelector('.fresh').innerText !== {json.dumps(before)}")
    assert page.run("document.activeElement.id") == "filter"
    assert page.run("document.querySelector('#filter').value") == "q"


def test_charts_have_a_table_behind(page):
    go(page, "#/")
    page.wait("document.querySelector('.chart svg')")
    page.click(".chart summary")
    page.wait("document.querySelector('.chart table tbody tr')")
    page.run("document.querySelector('.chart svg').focus()")
    page.press("ArrowLeft")
    page.wait("document.querySelector('.chart .at')")


def test_definitions_are_downloaded(page, tmp_path):
    page.call("Page.setDownloadBehavior", behavior="allow", downloadPath=str(tmp_path))
    go(page, "#/definitions")
    page.wait("document.querySelector('.card button')")
    page.click(".card button")
    page.wait_for_file(tmp_path / "definitions.json")
    assert json.loads((tmp_path / "definitions.json").read_text())["users"][0]["name"] == "guest"


def test_colours_are_switched_and_kept(page, site):
    page.click("[aria-label='Dark colours']")
    page.wait("document.documentElement.dataset.theme === 'dark'")
    page.open(site.address)
    page.wait("document.querySelector('.page')")
    assert page.run("getComputedStyle(document.documentElement).colorScheme") == "dark"


def test_without_the_node_the_last_figures_stay(browser, tmp_path_factory):
    folder = tmp_path_factory.mktemp("s", numbered=True)
    site = Site(folder)
    try:
        site.wait()
        page = browser.page()
        page.log_in(site.address)
        site.daemon.signal(signal.SIGKILL)
        refresh(page)
        page.wait("document.querySelector('main.stale .page h1')")
        page.wait_for_text("The node has not answered since")
    finally:
        site.daemon.stop()


@pytest.mark.slow
@pytest.mark.usefixtures("channel")
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_nothing_keeps_anybody_out(browser, site, tmp_path, dark):
    """Run axe-core, which is fetched for it, on each page."""
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("there is no npm to fetch axe-core with")
    done = subprocess.run(
        [npm, "pack", "--silent", "axe-core@4"], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=300
    )
    if done.returncode:
        pytest.skip(f"axe-core cannot be fetched: {done.stderr[-200:]}")
    with tarfile.open(tmp_path / done.stdout.split()[-1]) as archive:
        axe = archive.extractfile("package/axe.min.js").read().decode()
    page = browser.page(dark=dark)
    page.log_in(site.address)
    nouns = [f"#/{'' if name == 'overview' else name}" for name in pages()]
    ones = [of("queues", "/", HOSTILE[0]), of("exchanges", "/", HOSTILE[0]), of("vhosts", "/"), of("users", "guest")]
    tabs = [f"{ones[0]}?tab={tab}" for tab in ("consumers", "bindings")]
    found = {}
    for address in (*nouns, *ones, *tabs):
        go(page, address)
        page.wait("document.querySelector('main h1')")
        page.call("Runtime.evaluate", expression=axe)
        script = "axe.run().then(({violations}) => violations.map(({id, nodes}) => `${id}: ${nodes[0].target}`))"
        if violations := page.run(script):
            found[address] = violations
    assert found == {}


@pytest.mark.slow
def test_ten_thousand_queues_are_a_page_of_a_hundred(page, site):
    connection = pika.BlockingConnection(pika.ConnectionParameters("127.0.0.1", site.daemon.port, heartbeat=0))
    channel = connection.channel()
    channel.queue_declare("one", auto_delete=True)
    for number in range(10_000):
        channel.queue_declare(f"many.{number:05}", exclusive=True)
    go(page, "#/queues?name=many.")
    page.wait_for_text("10,000 of")
    assert page.run("document.querySelectorAll('tbody tr').length") == 100
    page.click("[aria-label='Last page']")
    page.wait("document.querySelector('tbody th')?.textContent === 'many.09900'")
    connection.close()

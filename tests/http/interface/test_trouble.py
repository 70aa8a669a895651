"""The interface in Chromium while something is wrong: an alarm, a session that ended, a user who was deleted."""

import pytest

from tests.http.interface.steps import go, of, refresh


def log_out_elsewhere(page):
    """End the session as another window of the browser does."""
    page.run(
        """fetch("/api/pybroker/session")
            .then((response) => response.json())
            .then((session) => fetch("/api/pybroker/session", {
                method: "DELETE",
                headers: { "X-CSRF-Token": session.csrf_token },
            }))"""
    )


@pytest.fixture
def alarm(page, site):
    site.daemon.ctl("set_vm_memory_high_watermark", "absolute", "1MiB")
    page.reload()
    yield
    site.daemon.ctl("set_vm_memory_high_watermark", "0.6")
    page.reload()
    page.wait("document.querySelector('main h1') && !document.querySelector('main .banner')")


@pytest.mark.usefixtures("alarm")
def test_an_alarm_is_told_with_its_reason_and_remedy(page):
    page.wait("document.querySelector('main .banner code')")
    text = page.run("document.querySelector('main .banner').innerText")
    assert "Memory alarm on node test@here" in text
    assert "1.0 MB allowed" in text
    command = page.run("document.querySelector('main .banner code').innerText")
    assert command.startswith("pybrokerctl set_vm_memory_high_watermark absolute ")


def test_a_user_deleted_meanwhile_is_gone(page, site):
    site.daemon.ctl("add_user", "doomed", "secret")
    go(page, of("users", "doomed"))
    page.wait("document.querySelector('main h1')?.innerText === 'doomed'")
    site.daemon.ctl("delete_user", "doomed")
    refresh(page)
    page.wait("document.querySelector('main.stale .banner a')")
    assert "Gone" in page.run("document.querySelector('main .banner').innerText")
    page.click("main .banner a")
    page.wait("[...document.querySelectorAll('tbody b')].some((one) => one.innerText === 'user.deleted')")


def test_a_session_that_ended_is_told_and_its_page_comes_back(browser, site):
    page = browser.page()
    page.log_in(site.address)
    go(page, "#/exchanges?sort=type")
    log_out_elsewhere(page)
    refresh(page)
    page.wait_for_text("The session has ended.")
    page.fill("input[name=name]", "guest")
    page.fill("input[name=password]", "guest")
    page.click(".login button")
    page.wait("document.querySelector('th[aria-sort] a')?.innerText.startsWith('Type')")


def test_users_see_what_they_may(browser, site):
    site.daemon.ctl("add_user", "ann", "secret")
    site.daemon.ctl("set_user_tags", "ann", "management")
    page = browser.page()
    page.log_in(site.address, "ann", "secret")
    assert "Users" not in page.run("document.querySelector('nav').innerText")
    go(page, "#/users")
    page.wait_for_text("Not administrator user")
    go(page, of("vhosts", "/"))
    page.wait_for_text("you may not enter it")
    site.daemon.ctl("delete_user", "ann")
    assert page.complaints == []

"""The unit morph in a real browser: moving, playing and switching ask nobody, and words stay words."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.browser.access import has_no_violation


def test_the_slider_goes_through_the_units_without_a_request(browser_page, parts) -> None:
    page = browser_page(f"{parts}/sanity")
    expect(page.locator(".heatmap")).to_have_count(2)
    slider, title = page.get_by_role("slider", name="Random units"), page.locator(".side-title").nth(1)
    left, right = (page.locator(".side").nth(i) for i in range(2))
    sent: list[str] = []
    page.on("request", lambda request: sent.append(request.url))
    expect(title).to_have_text("Nothing random yet")
    assert left.locator(".text").inner_text() == right.locator(".text").inner_text()
    shades = "t => t.map((x) => x.style.getPropertyValue('--strength'))"
    assert left.locator(".token").evaluate_all(shades) == right.locator(".token").evaluate_all(shades)
    slider.focus()
    page.keyboard.press("ArrowRight")
    expect(title).to_have_text("Random: head")
    assert left.locator(".token").evaluate_all(shades) != right.locator(".token").evaluate_all(shades)
    page.keyboard.press("End")
    expect(title).to_have_text("Random: head down to embeddings")
    page.get_by_label("Map by").select_option("LIME")
    expect(right).to_contain_text("This random model gave no map.")
    page.get_by_role("button", name="One at a time").click()
    expect(title).to_have_text("Random: embeddings")
    expect(right.locator(".text")).to_contain_text("<b>but</b>")
    page.get_by_role("button", name="Play").click()
    expect(page.get_by_role("button", name="Pause")).to_be_visible()
    expect(page.get_by_role("button", name="Play")).to_be_visible()
    expect(title).to_have_text("Random: embeddings")
    assert sent == []
    has_no_violation(page)

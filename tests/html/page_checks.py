"""Checks that every page of a report passes, whatever it shows."""

import zlib

# Words and what they stand on, as (ratio, words): WCAG's contrast of every text outside of drawings.
CONTRAST = r"""() => {
  const channels = text => text.match(/[\d.]+/g).map(Number);
  const light = rgb => rgb.slice(0, 3).map(v => v / 255)
    .map(v => v <= 0.03928 ? v / 12.92 : Math.pow((v + 0.055) / 1.055, 2.4))
    .reduce((a, v, i) => a + v * [0.2126, 0.7152, 0.0722][i], 0);
  const behind = node => {
    for (; node; node = node.parentElement) {
      const back = channels(getComputedStyle(node).backgroundColor);
      if (back.length === 3 || back[3] === 1) return back;
    }
    return [255, 255, 255];
  };
  const low = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let text = walker.nextNode(); text; text = walker.nextNode()) {
    const node = text.parentElement;
    if (!text.data.trim() || !node.getClientRects().length || node.closest('script, svg')) continue;
    const a = light(channels(getComputedStyle(node).color)), b = light(behind(node));
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5) low.push([ratio.toFixed(2), text.data.trim().slice(0, 40)]);
  }
  return low;
}"""
WIDTHS = (400, 1280, 2560, 3840)


def check(condition, text):
    if not condition:
        raise AssertionError(text)


def corner(tab, selector):
    """The colour of a pixel near the corner of what `selector` finds, as the screen shows it."""
    box = tab.locator(selector).first
    box.scroll_into_view_if_needed()
    place = box.bounding_box()
    image = tab.screenshot(clip={"x": place["x"] + 4, "y": place["y"] + 4, "width": 1, "height": 1})
    data, at = b"", 8
    while at < len(image):
        length = int.from_bytes(image[at:at + 4], "big")
        if image[at + 4:at + 8] == b"IDAT":
            data += image[at + 8:at + 8 + length]
        at += 12 + length
    return tuple(zlib.decompress(data)[1:4])


def check_page(reports, tab, name):
    """What holds for every page: it fits every screen, its words can be read in both themes, and
    everything that is drawn has a text and can be reached with the keyboard."""
    for width in WIDTHS:
        tab.set_viewport_size({"width": width, "height": 900})
        tab.wait_for_timeout(60)
        wide = tab.evaluate("document.documentElement.scrollWidth")
        check(wide <= width, f"{name}: {wide} px wide on a screen of {width}")
        if reports.shots:
            tab.screenshot(path=str(reports.shots / f"{name}_{width}.png"), full_page=True)
    tab.set_viewport_size({"width": 1280, "height": 900})
    for theme in ("dark", "light"):
        tab.select_option("#theme", theme)
        low = tab.evaluate(CONTRAST)
        check(low == [], f"{name}, {theme}: words of less contrast than 4.5:1: {low[:4]}")
        if reports.shots:
            tab.screenshot(path=str(reports.shots / f"{name}_{theme}.png"), full_page=True)
    silent = tab.evaluate("""[...document.querySelectorAll('.chart, img, svg.graph')]
        .filter(n => !(n.getAttribute('aria-label') || n.getAttribute('alt'))).length""")
    check(silent == 0, f"{name}: {silent} drawings without a text")
    unreachable = tab.evaluate("""[...document.querySelectorAll('.tablebox, svg.graph, th[aria-sort]')]
        .filter(n => n.tabIndex < 0).length""")
    check(unreachable == 0, f"{name}: the keyboard does not reach {unreachable} parts")

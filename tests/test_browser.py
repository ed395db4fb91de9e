"""The checks of a page in a browser find each kind of fault, and nothing on a good page."""

from tests._browser import problems


GOOD = """<!doctype html><html lang="en"><meta name="viewport" content="width=device-width">
<style>:root{color-scheme:light dark}body{color:CanvasText;background:Canvas}</style>
<a href="#x">link</a><button>press</button><details><summary>more</summary><a href="#y">y</a>
</details><div style="overflow:auto" tabindex="0"><pre style="width:3000px">scrolls</pre></div>"""
FAULTS = {
    "px: DIV": '<div style="width:2000px">wide</div>',
    "P.pale": '<p class="pale" style="color:#999;background:#aaa">pale</p>',
    "no visible focus: BUTTON.bare": '<button class="bare" style="outline:none">b</button>',
    "not reached: A.far": '<a class="far" href="#z" onfocus="this.blur()">far</a>',
    "thrown": "<script>throw Error('thrown')</script>",
    "fetched http": '<img src="http://localhost:9/x.png" alt="">',
}


def test_a_good_page_has_no_problems(browser, tmp_path):
    """Links in closed details are not expected, and a box may scroll by itself."""
    page = tmp_path / "good.html"
    page.write_text(GOOD)

    assert problems(browser, page) == []


def test_each_fault_is_found(browser, tmp_path):
    """Width, contrast, focus, order, errors and addresses are each reported."""
    page = tmp_path / "bad.html"
    page.write_text(GOOD + "".join(FAULTS.values()))
    found = "\n".join(problems(browser, page)).lower()

    assert [fault for fault in FAULTS if fault.lower() not in found] == [], found

"""A reader of HTML reports."""

from __future__ import annotations

from html.parser import HTMLParser


class Page(HTMLParser):
    """Collects tags, and whatever would load or run something."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.active: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note an opening tag."""
        if tag in {"script", "iframe", "object", "embed", "form", "base", "img", "audio", "video"}:
            self.active.append(tag)
        for name, value in attrs:
            if name.startswith("on") or name in {"src", "srcset", "action", "style", "xlink:href"}:
                self.active.append(f"{tag} {name}")
            if name == "href" and value != "data:,":
                self.active.append(f"{tag} {name}={value}")
        if tag not in {"meta", "link"}:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Empty SVG elements open nothing."""
        self.handle_starttag(tag, attrs)
        self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        """Every tag closes the one that was opened last."""
        assert self.open.pop() == tag

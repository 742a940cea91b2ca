"""Build the navigation of the site from the lists of docs/index.md."""

import re


def sections(index: str) -> dict[str, list[str]]:
    """Return the pages that each section lists, without their suffix.

    >>> sections("# Milepost\\n\\n## Trust\\n\\n- [a](guarantee.md): see [b](cli.md).\\n- [c](../SECURITY.md)\\n")
    {'Trust': ['guarantee', '../SECURITY']}
    """
    parts = re.split(r"^## (.*)$", index, flags=re.MULTILINE)
    found = {
        heading: re.findall(r"^- \[[^\]]+\]\(([^)#]+)\.md\)", text, flags=re.MULTILINE)
        for heading, text in zip(parts[1::2], parts[2::2], strict=True)
    }
    return {heading: pages for heading, pages in found.items() if pages}


def with_navigation(index: str) -> str:
    """Append a hidden toctree for each section of the index."""
    trees = [
        "\n".join(["```{toctree}", ":hidden:", f":caption: {heading}", "", *pages, "```"])
        for heading, pages in sections(index).items()
    ]
    return "\n\n".join([index, *trees]) + "\n"

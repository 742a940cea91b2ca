"""Run every example, and draw the pictures of docs/examples.md: `python -m examples.pictures [folder]`."""

import sys
from importlib import import_module
from pathlib import Path

from PIL import Image

EXAMPLES = ("clinic", "retailer", "texts", "names")
FOLDER = Path(__file__).parents[1] / "docs" / "images"


def main(folder: Path = FOLDER) -> None:
    """Draw all pictures with few colors, so that the files are small."""
    for name in EXAMPLES:
        path = folder / f"example-{name}.png"
        import_module(f"examples.{name}").main(path)
        Image.open(path).convert("RGB").quantize(255, dither=Image.Dither.NONE).save(path, optimize=True)
        print(f"{path.stat().st_size:,} bytes\n")


if __name__ == "__main__":
    main(*(Path(word) for word in sys.argv[1:2]))

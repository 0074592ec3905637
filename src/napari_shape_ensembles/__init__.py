"""Compare the outlines in two images: the same, or different in scale or in undulation?

The rooms, in the order the data goes through them: `segment`, `curves`, `tensors`, `discrepancy`,
`comparison`; `viewer` shows it all in napari and is the only one that knows of a screen. Names are
loaded when first used, so importing the package is quick.
"""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)

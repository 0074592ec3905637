"""Colors of pictures that are read on a light and on a dark page alike: transparent ground, gray words."""

GREY = "#808080"
BOTH = {
    "savefig.transparent": True,
    "legend.framealpha": 0,
    **dict.fromkeys(
        ("text.color", "axes.labelcolor", "axes.edgecolor", "axes.titlecolor", "xtick.color", "ytick.color"), GREY
    ),
}

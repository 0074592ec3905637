"""Colors of figures readable on light and dark pages: transparent background, gray text."""

GREY = "#808080"
BOTH = {
    "savefig.transparent": True,
    "legend.framealpha": 0,
    **dict.fromkeys(
        ("text.color", "axes.labelcolor", "axes.edgecolor", "axes.titlecolor", "xtick.color", "ytick.color"), GREY
    ),
}

"""The window *Curves*: linked scatter plot, table, gallery and card of the curves of a result."""

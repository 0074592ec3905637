"""The window *Curves*: scatter plot, table, gallery and card of the curves of a result, on one selection."""

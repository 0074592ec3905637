"""Samples of any size: the outlines of two samples compared in pieces, on this computer or on a cluster."""

from .compare import StreamedComparison, compare_in_pieces
from .pieces import Piece, pieces_of

__all__ = ["Piece", "StreamedComparison", "compare_in_pieces", "pieces_of"]

"""Out-of-core comparison of two samples of any size, processed in pieces, locally or on a cluster."""

from .compare import StreamedComparison, compare_in_pieces
from .pieces import Piece, pieces_of

__all__ = ["Piece", "StreamedComparison", "compare_in_pieces", "pieces_of"]

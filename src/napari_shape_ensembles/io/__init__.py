"""Results and foreign formats as files, and back."""

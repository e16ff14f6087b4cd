"""What two sides must agree on: names, wire shapes, record states. Standard library only; shapes carry a version."""

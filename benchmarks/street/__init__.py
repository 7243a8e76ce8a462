"""Do the answers hold on features as people have them? `make bench-street` writes docs/street.md."""

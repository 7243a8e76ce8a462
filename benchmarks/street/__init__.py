"""Do the answers hold on features as people have them? `make street` writes docs/street.md."""

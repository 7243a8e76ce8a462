"""Do the answers hold on features as people have them? `make bench-raw-features` writes docs/raw-features.md."""

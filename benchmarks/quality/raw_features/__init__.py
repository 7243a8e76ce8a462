"""Do the answers hold on features as people have them? `make bench-raw-features` writes docs/evidence/raw-features.md."""

"""A study on a server, used like a local one."""

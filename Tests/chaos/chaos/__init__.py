"""The checker's parts: each module knows one thing. docs/CHAOS.md tells what they do together."""
